"""The version of this package, where every part of it can read it: asking the
installation would fail where there is none.
"""

PACKAGE_VERSION = "0.1.0"
