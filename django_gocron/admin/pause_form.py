"""What a pause is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_gocron.admin.form_fields import WallTimeField
from django_gocron.admin.schedule_editor import from_wall
from django_gocron.exceptions import ScheduleError
from django_gocron.operations import LONGEST_REASON

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo


class PauseForm(forms.Form):
    """``cleaned_data`` are the arguments of a pause; ``until`` is read on the clocks of ``zone``."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=LONGEST_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    until = WallTimeField(label=gettext_lazy("Until"), required=False)

    def __init__(self, *args: Any, zone: ZoneInfo, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._zone = zone
        self.fields["until"].help_text = _("On the clocks of %(zone)s. Empty: until somebody resumes it.") % {
            "zone": zone.key
        }

    def clean_until(self) -> datetime | None:
        moment = self.cleaned_data["until"]
        try:
            return from_wall(moment, self._zone) if moment else None
        except ScheduleError as error:
            raise ValidationError(error.message, code=error.code) from None
