import java.util.List;

/** The page; Java has no template engine, so it is text blocks and an escape. */
class Page {
    static final String HEAD = """
        <!DOCTYPE html>
        <html>
        <head><meta charset="utf-8"><title>Orders</title></head>
        <body>
        <h1>Orders</h1>
        <table>
        <tr><th>Number</th><th>Name</th><th>Note</th><th>Text</th></tr>
        """;
    static final String FOOT = """
        </table>
        </body>
        </html>
        """;

    static String render(List<Data.Row> rows) {
        var page = new StringBuilder(1 << 16).append(HEAD);
        for (var row : rows) {
            page.append("<tr><td>").append(row.number()).append("</td><td>");
            escape(page, row.name()).append("</td><td>");
            escape(page, row.note()).append("</td><td>");
            escape(page, row.text()).append("</td></tr>\n");
        }
        return page.append(FOOT).toString();
    }

    static StringBuilder escape(StringBuilder page, String text) {
        for (int n = 0; n < text.length(); n++) {
            char sign = text.charAt(n);
            switch (sign) {
                case '<' -> page.append("&lt;");
                case '>' -> page.append("&gt;");
                case '&' -> page.append("&amp;");
                case '"' -> page.append("&quot;");
                case '\'' -> page.append("&#39;");
                default -> page.append(sign);
            }
        }
        return page;
    }
}
