"""The sink of connector `kafka`: transactions of messages, with a journal if the job keeps state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.kafka.client import kafka, topic_of
from fsql.connectors.kafka.message_key import message_key
from fsql.connectors.kafka.row_messages import RowMessages, check_format
from fsql.connectors.kafka.topic_sink import TopicSink

if TYPE_CHECKING:
    from fsql.compiler.logical import SinkTable
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.sink import Sink


def open_sink(sink: SinkTable, settings: Settings, context: ConnectorContext) -> Sink:
    """Return the sink that writes the topic.

    Raises:
        FsqlError: E531, if the client is not installed; E531, E533 or E534, if the options are not valid.
    """
    kafka()
    check_format(settings)
    messages = RowMessages(sink, message_key(sink.columns, settings))
    return TopicSink(topic_of(settings, context), sink.name, messages, context.journal)
