"""`flask --app main run`: a sign-up that sends a welcome, by the blocking face of a road."""

import atexit
import threading

from flask import Flask, request
from werkzeug.serving import is_running_from_reloader

from postroad.sync import Message, Postroad

road = Postroad("sqlite:///shop.db")
app = Flask(__name__)
seen: list[str] = []


@road.handler("welcome")
def welcome(message: Message[str]) -> None:
    """Greet somebody."""
    seen.append(f"welcome, {message.body}")


@app.post("/sign-up")
def sign_up() -> tuple[dict[str, str], int]:
    """Store the job before the answer is given."""
    return {"id": road.send("welcome", request.args["name"]).id}, 201


@app.get("/seen")
def what_was_seen() -> list[str]:
    """What was done so far."""
    return seen


# With --debug Flask's reloader imports this in two processes. The second one serves, and a SQLite
# road belongs to one process.
if not app.debug or is_running_from_reloader():
    road.open()  # after a fork, if the server forks
    atexit.register(road.close)
    threading.Thread(target=road.run, daemon=True).start()
