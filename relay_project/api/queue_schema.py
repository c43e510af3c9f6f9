"""The shape of a picture, for the published description only. A test holds it to what is really sent."""

from __future__ import annotations

from rest_framework import serializers

WORDS = ("open", "full", "paused", "closed", "unconfigured")
CLASSES = ("interactive", "normal", "batch")


class QueueStateSerializer(serializers.Serializer[object]):
    word = serializers.ChoiceField(WORDS)
    reason = serializers.CharField(allow_blank=True, help_text="A code; see docs/queue-api.md.")
    message = serializers.CharField(allow_blank=True, help_text="The administrator's own words.")
    closed_until = serializers.DateTimeField(allow_null=True)
    opens_in_ms = serializers.IntegerField(allow_null=True)


class QueueWindowSerializer(serializers.Serializer[object]):
    measure = serializers.CharField()
    scope = serializers.CharField()
    used = serializers.IntegerField()
    limit = serializers.IntegerField()
    window_s = serializers.FloatField()
    mode = serializers.ChoiceField(("enforced", "estimate"))


class QueueModelSerializer(serializers.Serializer[object]):
    id = serializers.CharField()
    name = serializers.CharField()
    state = QueueStateSerializer()
    running = serializers.IntegerField()
    limit = serializers.IntegerField(allow_null=True, help_text="null: only the provider's lanes bound it.")
    waiting = serializers.IntegerField()
    next_start_ms = serializers.IntegerField(allow_null=True)
    windows = QueueWindowSerializer(many=True)


class QueueProviderSerializer(serializers.Serializer[object]):
    id = serializers.CharField()
    name = serializers.CharField()
    state = QueueStateSerializer()
    running = serializers.IntegerField()
    limit = serializers.IntegerField()
    waiting = serializers.IntegerField()
    max_waiting = serializers.IntegerField()
    next_start_ms = serializers.IntegerField(allow_null=True)
    longest_running_ms = serializers.IntegerField(allow_null=True)
    windows = QueueWindowSerializer(many=True, help_text="Counted over all models of the provider.")
    models = QueueModelSerializer(many=True)


class QueueByClassSerializer(serializers.Serializer[object]):
    interactive = serializers.IntegerField()
    normal = serializers.IntegerField()
    batch = serializers.IntegerField()


class QueueRelaySerializer(serializers.Serializer[object]):
    state = QueueStateSerializer()
    running = serializers.IntegerField()
    limit = serializers.IntegerField()
    inside = serializers.IntegerField(help_text="Running and waiting together.")
    inside_limit = serializers.IntegerField()
    waiting = serializers.IntegerField()
    waiting_by_class = QueueByClassSerializer()


class _RowSerializer(serializers.Serializer[object]):
    id = serializers.CharField()
    provider = serializers.CharField()
    model = serializers.CharField()
    purpose = serializers.CharField()
    own = serializers.BooleanField()
    owner = serializers.CharField()

    def get_fields(self) -> dict[str, serializers.Field]:  # type: ignore[type-arg]
        """`class` is a keyword and cannot be written as an attribute."""
        return super().get_fields() | {"class": serializers.ChoiceField(CLASSES)}


class QueueTicketSerializer(_RowSerializer):
    place = serializers.IntegerField(help_text="1 is the next of this model's line.")
    waited_ms = serializers.IntegerField()
    estimated_start_ms = serializers.IntegerField(allow_null=True, help_text="From now; null: cannot be told.")
    reason = serializers.CharField(help_text="What it waits for; see docs/queue-api.md.")


class QueueLeaseSerializer(_RowSerializer):
    running_ms = serializers.IntegerField()


class QueuePictureSerializer(serializers.Serializer[object]):
    version = serializers.IntegerField(help_text="Grows with every change.")
    at = serializers.DateTimeField()
    relay = QueueRelaySerializer()
    providers = QueueProviderSerializer(many=True)
    tickets = QueueTicketSerializer(many=True, help_text="Waiting: your own; all for staff.")
    leases = QueueLeaseSerializer(many=True, help_text="Running: your own; all for staff.")
