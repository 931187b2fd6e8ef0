"""The command line: python -m tandemflow check FILE, run FILE, and what the program `tandem` does."""
import os
import shutil
import subprocess
import sys

USAGE = """usage: python -m tandemflow COMMAND

  check FILE…            list the names of TensorFlow and Keras in a program that are not here
  run FILE [ARGUMENT…]   run a program with tensorflow and keras replaced by this package
  version                print the version
  devices                list the devices of this machine
  COMMAND …              any other command of the program tandem, where that is installed
"""


def _devices():
    import tandemflow as tf

    for device in tf.config.list_physical_devices():
        details = tf.config.experimental.get_device_details(device)
        print(device.name, details.get("device_name", ""), sep="\t")
    return 0


def _run(arguments):
    from tandemflow import _aliases
    from tandemflow import _run as runner

    if not os.path.isfile(arguments[0]):
        print(f"tandemflow run: there is no file {arguments[0]!r}", file=sys.stderr)
        return 2
    _aliases.install()
    return runner.main(arguments)


def _tandem(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    beside = os.path.join(here, "..", "..", "tandem")  # of a build tree
    program = beside if os.access(beside, os.X_OK) and not os.path.isdir(beside) else shutil.which("tandem")
    if program is None:
        print(f"tandemflow: there is no command {arguments[0]!r}, and the program tandem is not installed\n\n{USAGE}", file=sys.stderr)
        return 2
    return subprocess.run([program, *arguments], check=False).returncode


def main(arguments):
    """The exit code of a command."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0 if arguments else 2
    command, *rest = arguments
    if command in ("check", "run") and not rest:
        print(f"tandemflow {command}: which file?\n\n{USAGE}", file=sys.stderr)
        return 2
    if command == "check":
        from tandemflow import _check

        return _check.main(rest)
    if command == "run":
        return _run(rest)
    if command in ("version", "--version"):
        import tandemflow as tf

        print(tf.__version__)
        return 0
    if command == "devices" and not rest:
        return _devices()
    return _tandem(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
