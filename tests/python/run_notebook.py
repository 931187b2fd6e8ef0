"""Runs a notebook's cells in IPython, as a kernel does, and writes what each showed as JSON: run_notebook.py FILE"""
import json
import sys

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


def run(shell, source):
    """What one cell printed and, of the value of its last line, the texts and HTML that a notebook would show."""
    with capture_output() as captured:
        done = shell.run_cell(source, store_history=True)
    done.raise_error()
    shown = shell.display_formatter.format(done.result)[0] if done.result is not None else {}
    return {"printed": captured.stdout, "text": shown.get("text/plain", ""), "html": shown.get("text/html", "")}


def main(file):
    with open(file, encoding="utf-8") as text:
        cells = [cell for cell in json.load(text)["cells"] if cell["cell_type"] == "code"]
    shell = InteractiveShell.instance(colors="nocolor")
    print(json.dumps([run(shell, "".join(cell["source"])) for cell in cells]))


main(sys.argv[1])
