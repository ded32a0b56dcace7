"""SVG as PNG, by resvg."""

import importlib

from deadheat.errors import DeadheatError
from deadheat.report.picture.svg import FONT

ZOOM = 2
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"></svg>'
LETTER = EMPTY.replace("></svg>", f'><text x="2" y="16" font-family="{FONT}">x</text></svg>')


def png(svg: str, zoom: int = ZOOM) -> bytes:
    """By default at twice its size, for dense screens.

    Raises `DeadheatError` without resvg or a font.
    """
    try:
        svg_to_bytes = importlib.import_module("resvg_py").svg_to_bytes
    except ImportError as error:
        raise DeadheatError(
            "--format png needs the package resvg_py, which is not installed",
            "pip install 'deadheat[png]'; or take --format svg",
        ) from error
    if svg_to_bytes(svg_string=LETTER) == svg_to_bytes(svg_string=EMPTY):
        raise DeadheatError(
            "--format png: this machine has no font to write with",
            "apt-get install fonts-dejavu-core; or take --format svg",
        )
    return bytes(svg_to_bytes(svg_string=svg, zoom=zoom))
