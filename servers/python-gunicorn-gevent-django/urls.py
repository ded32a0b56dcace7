import json
import time
import zlib

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

NOTES = ["plain", '<script>alert("x")</script>', "fish & chips", "it's \"quoted\"", "a < b > c"]
TEXT = (
    "Packed by hand on the day it came in, checked twice, and sent with the early van. "
    "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; "
    "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."
)
ROWS = [
    {"number": n, "name": f"Item {n}", "note": NOTES[n % 5], "text": TEXT} for n in range(1, 201)
]


def account() -> dict:
    return {
        "id": 4711,
        "name": "Ada Example",
        "email": "ada@example.org",
        "city": "Zürich",
        "active": True,
        "balance": 1250.75,
        "note": None,
        "created": "2026-11-22T10:30:00Z",
        "items": [{"id": n, "name": f"Item {n}", "price": n + 0.25} for n in range(1, 11)],
    }


def text(body: str) -> HttpResponse:
    return HttpResponse(body, content_type="text/plain")


def hello(request: HttpRequest) -> HttpResponse:
    return text("Hello, World!")


def wait(request: HttpRequest) -> HttpResponse:
    time.sleep(0.01)
    return text("waited")


def send_json(request: HttpRequest) -> HttpResponse:
    return JsonResponse(account())


@csrf_exempt
@require_POST
def echo(request: HttpRequest) -> HttpResponse:
    try:
        message = json.loads(request.body)
    except ValueError:
        return HttpResponseBadRequest()
    message["seen"] = True
    return JsonResponse(message)


def page(request: HttpRequest) -> HttpResponse:
    return render(request, "page.html", {"rows": ROWS})


@csrf_exempt
@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    length = checksum = 0
    while piece := request.read(65536):
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return text(f"{length} {checksum:08x}")


def orders(request: HttpRequest, id: str, order: str, collection: str) -> HttpResponse:
    return text(f"{collection} {id} {order} {request.GET.get('page')}")


COLLECTIONS = ["users", *(f"resource{n}" for n in range(1, 100))]
urlpatterns = [
    path("", hello),
    path("wait", wait),
    path("json", send_json),
    path("echo", echo),
    path("page", page),
    path("upload", upload),
    *(
        path(f"{name}/<str:id>/orders/<str:order>", orders, {"collection": name})
        for name in COLLECTIONS
    ),
]
