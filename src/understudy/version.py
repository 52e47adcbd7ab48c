"""The name and version under which this package is installed, where every part of it
can read them: asking the installation would fail where there is none.
"""

PACKAGE_VERSION = "0.1.0"
DISTRIBUTION_NAME = "understudy-dp"


def install_command(*extras: str) -> str:
    """How to install what an extra brings.

    >>> install_command("studio", "evaluate")
    'pip install "understudy-dp[studio,evaluate]"'
    """
    return f'pip install "{DISTRIBUTION_NAME}[{",".join(extras)}]"'
