"""What tests of several modules share. Tests import it as `kit`, whose parent folder is
the one root of test helpers.
"""
