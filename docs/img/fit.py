"""Makes docs/img/fit.svg: what `latentree fit` prints, as a picture."""

import io
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

done = subprocess.run(
    [sys.executable, "-m", "latentree.cli", "fit", "carcinoma", "--classes", "1-4"],
    capture_output=True,
    text=True,
    check=True,
)
console = Console(record=True, width=82, file=io.StringIO())
console.print(Text("$ latentree fit carcinoma --classes 1-4", style="bold"))
console.print(Text(done.stdout.split("\nNotes")[0].rstrip()))
Path(__file__).with_suffix(".svg").write_text(console.export_svg(title="latentree"))
