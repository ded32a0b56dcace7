import play.twirl.api.{Html, StringInterpolation}

/** The page, in Twirl's interpolator: its values are escaped as in a template. */
object Page:
  private def line(row: Data.Row): Html =
    html"""<tr><td>${row.number}</td><td>${row.name}</td><td>${row.note}</td><td>${row.text}</td></tr>
"""

  def render(rows: Seq[Data.Row]): Html = html"""<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>Orders</title></head>
<body>
<h1>Orders</h1>
<table>
<tr><th>Number</th><th>Name</th><th>Note</th><th>Text</th></tr>
${rows.map(line)}</table>
</body>
</html>
"""
