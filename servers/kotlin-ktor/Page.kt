import kotlinx.html.HTML
import kotlinx.html.body
import kotlinx.html.h1
import kotlinx.html.head
import kotlinx.html.meta
import kotlinx.html.table
import kotlinx.html.td
import kotlinx.html.th
import kotlinx.html.title
import kotlinx.html.tr

fun HTML.page(rows: List<Row>) {
    head {
        meta(charset = "utf-8")
        title("Orders")
    }
    body {
        h1 { +"Orders" }
        table {
            tr {
                th { +"Number" }
                th { +"Name" }
                th { +"Note" }
                th { +"Text" }
            }
            for (row in rows) {
                tr {
                    td { +row.number.toString() }
                    td { +row.name }
                    td { +row.note }
                    td { +row.text }
                }
            }
        }
    }
}
