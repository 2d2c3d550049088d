"""Addresses of the release operations: documented under `_api/release/`, issued under `_api/rest/release/`."""

from django.urls import path

from elements.api.urls import ELEMENT
from release.api import task_views, views

API = "<str:collectionId>/<str:storageId>/_api"
TASK = f"{API}/rest/tasks/<str:taskId>"

urlpatterns = [
    path(f"{ELEMENT}/lifecycle", views.LifecycleView.as_view()),
    path(f"{API}/rest/tasks", task_views.TasksView.as_view()),
    path(f"{API}/rest/tasks/summary", task_views.TaskSummaryView.as_view()),
    path(TASK, task_views.TaskView.as_view()),
    path(f"{TASK}/accept", task_views.AcceptView.as_view()),
    path(f"{TASK}/reject", task_views.RejectView.as_view()),
    path(f"{TASK}/withdraw", task_views.WithdrawView.as_view()),
    path(f"{TASK}/delegate", task_views.DelegateView.as_view()),
]
for prefix, ending in (("release", ""), ("rest/release", "UnderRest")):
    element = f"{API}/{prefix}/<str:elementId>"
    applying = views.TransitionView.as_view(writing_ids={"POST": f"applyTransition{ending}"})
    with_segment = views.TransitionView.as_view(writing_ids={"POST": f"applyTransitionIgnoringWarnings{ending}"})
    urlpatterns += [
        path(f"{element}/transitions", views.TransitionsView.as_view(operation_id=f"listTransitions{ending}")),
        path(f"{element}/transitions/<str:transitionId>", applying),
        path(f"{element}/transitions/<str:transitionId>/<str:ignoreWarnings>", with_segment),
        path(
            f"{element}/createversion",
            views.CreateVersionView.as_view(writing_ids={"POST": f"createVersion{ending}"}),
        ),
    ]
