import os
import sys

from django.core.management import execute_from_command_line
from django.core.management.commands import runserver
from django.core.servers.basehttp import WSGIServer


class Server(WSGIServer):
    request_queue_size = int(os.environ["BACKLOG"])


runserver.Command.server_cls = Server
execute_from_command_line(sys.argv)
