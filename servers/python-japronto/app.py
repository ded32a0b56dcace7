import os
import sys
from email.utils import formatdate

from japronto import Application


def hello(request):
    return request.Response(text="Hello, World!")


def hello_with_date(request):
    return request.Response(text="Hello, World!", headers={"Date": formatdate(usegmt=True)})


app = Application()
app.router.add_route("/", hello_with_date if "DATE" in os.environ else hello, method="GET")
app.run(host=sys.argv[1], port=int(sys.argv[2]), worker_num=int(sys.argv[3]))
