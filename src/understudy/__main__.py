"""`python -m understudy` is the command of the same name: for whoever has it in an
environment whose scripts are not on the path.
"""

from understudy.cli import main

if __name__ == "__main__":
    main()
