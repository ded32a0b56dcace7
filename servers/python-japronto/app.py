import sys

from japronto import Application


def hello(request):
    return request.Response(text="Hello, World!")


app = Application()
app.router.add_route("/", hello, method="GET")
app.run(host=sys.argv[1], port=int(sys.argv[2]), worker_num=int(sys.argv[3]))
