"""`deadheat protocols`: lists the protocols."""

from deadheat.catalog import find_root
from deadheat.cli.help import listed
from deadheat.cli.options import catalog_option, json_option
from deadheat.foreign_text import escaped
from deadheat.output import echo, echo_json
from deadheat.protocol import load_protocol, protocol_names


@listed("protocols")
@catalog_option
@json_option
def command(catalog: str | None, as_json: bool) -> None:
    """A protocol is a file that says what a run measures and how: `deadheat run --protocol NAME`.

    \b
    Examples:
      deadheat protocols
      deadheat plan --protocol quick go-gin          what a run of one would do
    """
    root = find_root(catalog)
    protocols = [load_protocol(root, name) for name in protocol_names(root)]
    if as_json:
        echo_json([protocol.model_dump() for protocol in protocols])
        return
    for protocol in protocols:
        echo(f"{protocol.name:15} {escaped(protocol.about)}")
