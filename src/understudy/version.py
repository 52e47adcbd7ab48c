"""The name and version of this package. They are constants, because the metadata of an
installation is missing where the source is run without one.
"""

PACKAGE_VERSION = "0.1.0"
DISTRIBUTION_NAME = "understudy-dp"


def install_command(*extras: str) -> str:
    """The command that installs optional dependencies.

    >>> install_command("studio", "evaluate")
    'pip install "understudy-dp[studio,evaluate]"'
    """
    return f'pip install "{DISTRIBUTION_NAME}[{",".join(extras)}]"'
