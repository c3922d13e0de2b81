"""The shop has no front door: its office is the admin."""

from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView

admin.site.site_header = "The example shop"
admin.site.site_title = "The example shop"
admin.site.index_title = "Office"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
]
