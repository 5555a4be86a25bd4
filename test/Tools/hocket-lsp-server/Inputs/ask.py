"""Talks to a language server: ask.py SERVER FILE [definition|completion LINE:COLUMN] [change FROM TO]

Opens FILE and prints its diagnostics; after each `change` of a text those of the changed file; the answers to requests.
Lines and columns count from 1. The server must end by itself, with status 0, when it is told to.
"""
import json
import pathlib
import subprocess
import sys


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen([command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.ids = 0

    def send(self, method, params, **more):
        text = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()

    def receive(self, wanted):
        while True:
            length = 0
            while line := self.process.stdout.readline().strip():
                length = int(line.split(b":")[1])
            assert length, "the server has ended"
            message = json.loads(self.process.stdout.read(length))
            if wanted(message):
                return message

    def request(self, method, params):
        self.ids += 1
        self.send(method, params, id=self.ids)
        return self.receive(lambda message: message.get("id") == self.ids)["result"]


def place(text):
    line, column = map(int, text.split(":"))
    return {"line": line - 1, "character": column - 1}


def show_diagnostics(server):
    params = server.receive(lambda m: m.get("method") == "textDocument/publishDiagnostics")["params"]
    for diagnostic in params["diagnostics"]:
        at = diagnostic["range"]["start"]
        print(f'{at["line"] + 1}:{at["character"] + 1}: {diagnostic["message"]}')
    print(len(params["diagnostics"]), "diagnostics")


server = Server(sys.argv[1])
server.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
server.send("initialized", {})
document = {"uri": "file://" + str(pathlib.Path(sys.argv[2]).resolve())}
text = pathlib.Path(sys.argv[2]).read_text()
server.send("textDocument/didOpen",
            {"textDocument": {**document, "languageId": "mlir", "version": 1, "text": text}})
show_diagnostics(server)
arguments, version = sys.argv[3:], 1
while arguments:
    what = arguments.pop(0)
    if what == "change":
        text = text.replace(arguments.pop(0), arguments.pop(0))
        version += 1
        server.send("textDocument/didChange", {"textDocument": {**document, "version": version},
                                               "contentChanges": [{"text": text}]})
        show_diagnostics(server)
        continue
    answer = server.request("textDocument/" + what, {"textDocument": document, "position": place(arguments.pop(0))})
    if what == "completion":
        print("completion:", " ".join(item["label"] for item in answer["items"]))
    for location in answer if what == "definition" else []:
        at = location["range"]["start"]
        print(f'definition: {at["line"] + 1}:{at["character"] + 1}')
server.request("shutdown", None)
server.send("exit", None)
sys.exit(server.process.wait(60))
