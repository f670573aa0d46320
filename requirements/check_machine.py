"""Refuses, in a sentence, a machine that the lock files were not resolved for."""

import platform
import sys


def problem(system, machine, version):
    """Returns what is wrong with the machine, or None."""
    if (system, machine) != ("Linux", "x86_64"):
        return "the locks are for Linux x86-64; this is %s %s" % (system, machine)
    if not (3, 11) <= version < (3, 14):
        return (
            "the locks are for Python 3.11 to 3.13; this is Python %d.%d "
            "(make setup PYTHON=python3.11 names another)" % version
        )
    return None


if __name__ == "__main__":
    wrong = problem(platform.system(), platform.machine(), tuple(sys.version_info[:2]))
    if wrong:
        sys.exit("Turnout can't be set up here: " + wrong + ".")
