"""Every golden file by its name, with what makes it."""

from tests.golden.command_line import Output
from tests.golden.commands import COMMANDS
from tests.golden.machines import MACHINES
from tests.golden.measured import MEASURED
from tests.golden.pages import PAGES
from tests.golden.reports import REPORTS
from tests.golden.revisions import REVISIONS

OUTPUTS: dict[str, Output] = {**REPORTS, **COMMANDS, **MEASURED, **REVISIONS, **MACHINES, **PAGES}
