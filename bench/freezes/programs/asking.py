# SPDX-License-Identifier: Apache-2.0
"""asking.py FLAG: a loop that asks a server of Python in another process, over a socket of each family; see freezing.c."""
import os
import select
import socket
import sys
import time

flag = sys.argv[1]


def answer_slowly(connection):
    time.sleep(1.5)
    connection.sendall(b"late")


def serve(listeners):
    while True:
        for listener in select.select(listeners, [], [])[0]:
            connection, _ = listener.accept()
            connection.recv(100)
            answer_slowly(connection)
            connection.close()


def ask(family, address):
    with socket.socket(family) as client:
        client.connect(address)
        client.sendall(b"question")
        client.recv(100)


def freeze_unix():
    ask(socket.AF_UNIX, unix.getsockname())


def freeze_tcp():
    ask(socket.AF_INET, tcp.getsockname())


unix = socket.socket(socket.AF_UNIX)
unix.bind(flag + ".socket")
tcp = socket.socket()
tcp.bind(("127.0.0.1", 0))
for server in (unix, tcp):
    server.listen()
if os.fork() == 0:
    serve([unix, tcp])
loop = select.poll()
loop.register(os.pipe()[0], select.POLLIN)
while True:
    loop.poll(50)
    if os.path.exists(flag):
        globals()["freeze_" + open(flag).read().strip()]()
        os.unlink(flag)
