import spray.json.*

/** What the workloads json, echo and page answer with. */
object Data:
  case class Item(id: Int, name: String, price: Double)

  case class Account(
      id: Int,
      name: String,
      email: String,
      city: String,
      active: Boolean,
      balance: Double,
      note: Option[String],
      created: String,
      items: Seq[Item]
  )

  case class Sender(name: String, city: String)

  case class Message(
      id: Long,
      seen: Boolean,
      sender: Sender,
      tags: List[String],
      score: Double,
      parent: Option[Long],
      text: String
  )

  /** A field that is None is written as null. */
  private object Formats extends DefaultJsonProtocol with NullOptions
  import Formats.*

  given RootJsonFormat[Item] = jsonFormat3(Item.apply)
  given RootJsonFormat[Account] = jsonFormat9(Account.apply)
  given RootJsonFormat[Sender] = jsonFormat2(Sender.apply)
  given RootJsonFormat[Message] = jsonFormat7(Message.apply)

  case class Row(number: Int, name: String, note: String, text: String)

  private val notes =
    Vector("plain", "<script>alert(\"x\")</script>", "fish & chips", "it's \"quoted\"", "a < b > c")
  private val text =
    "Packed by hand on the day it came in, checked twice, and sent with the early van. " +
      "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " +
      "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."
  val rows: Seq[Row] = (1 to 200).map(n => Row(n, s"Item $n", notes(n % 5), text))

  def account: Account =
    val items = (1 to 10).map(n => Item(n, s"Item $n", n + 0.25))
    Account(
      4711, "Ada Example", "ada@example.org", "Z\u00fcrich", true, 1250.75, None, "2026-11-22T10:30:00Z", items
    )
