"""Where the parents of a census are fitted side by side: processes of this machine, and
the workers of Spark.
"""
