"""What an editor says to a language server that it starts and stops at once."""
import json

for number, method in enumerate(("initialize", "shutdown", "exit")):
    request = {"jsonrpc": "2.0", "method": method} | ({"id": number} if method != "exit" else {})
    body = json.dumps(request | ({"params": {}} if method == "initialize" else {}))
    print(f"Content-Length: {len(body)}\r\n\r\n{body}", end="")
