import play.api.libs.json._

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

  def account: JsObject = Json.obj(
    "id" -> 4711,
    "name" -> "Ada Example",
    "email" -> "ada@example.org",
    "city" -> "Z\u00fcrich",
    "active" -> true,
    "balance" -> 1250.75,
    "note" -> JsNull,
    "created" -> "2026-11-22T10:30:00Z",
    "items" -> JsArray((1 to 10).map(n => Json.obj("id" -> n, "name" -> s"Item $n", "price" -> (n + 0.25))))
  )
}
