"""A sign-up that enqueues a task, and what came of those that were enqueued here."""

from django.http import HttpRequest, JsonResponse
from django.urls import path

from .tasks import welcome  # noqa: TID252 - the folder is the project

enqueued: list[str] = []


def sign_up(request: HttpRequest) -> JsonResponse:
    """Store the task before the answer is given."""
    result = welcome.enqueue(request.GET["name"])
    enqueued.append(result.id)
    return JsonResponse({"id": result.id}, status=201)


def seen(_request: HttpRequest) -> JsonResponse:
    """What the tasks have returned so far, in whichever process they ran."""
    results = [welcome.get_result(each) for each in enqueued]
    done = [each.return_value for each in results if each.is_finished]
    return JsonResponse(done, safe=False)


urlpatterns = [path("sign-up", sign_up), path("seen", seen)]
