import io.circe.Json
import io.circe.syntax._

/** What the workloads json and page answer with. */
object Data {
  case class Row(number: Int, name: String, note: String, text: String)

  private val notes =
    Vector("plain", "<script>alert(\"x\")</script>", "fish & chips", "it's \"quoted\"", "a < b > c")
  private val text =
    "Packed by hand on the day it came in, checked twice, and sent with the early van. " +
      "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " +
      "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."
  val rows: Seq[Row] = (1 to 200).map(n => Row(n, s"Item $n", notes(n % 5), text))

  private def item(n: Int): Json =
    Json.obj("id" -> n.asJson, "name" -> s"Item $n".asJson, "price" -> (n + 0.25).asJson)

  def account: Json = Json.obj(
    "id" -> 4711.asJson,
    "name" -> "Ada Example".asJson,
    "email" -> "ada@example.org".asJson,
    "city" -> "Z\u00fcrich".asJson,
    "active" -> true.asJson,
    "balance" -> 1250.75.asJson,
    "note" -> Json.Null,
    "created" -> "2026-11-22T10:30:00Z".asJson,
    "items" -> Json.fromValues((1 to 10).map(item))
  )
}
