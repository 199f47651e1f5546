"""The source of connector `kafka`: read directly, or through its front log in a job that keeps state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.kafka.client import kafka, topic_of
from fsql.connectors.kafka.message_lines import lines_of, record_decoder
from fsql.connectors.kafka.topic_inflow import TopicInflow
from fsql.connectors.live.live_splits import live_split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Split


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the messages of the topic as a split.

    Raises:
        FsqlError: E531, if the client is not installed; E531, E533 or E534, if the options are not valid.
    """
    kafka()
    topic_of(settings, context)
    decoder = record_decoder(table, settings)
    return [live_split(settings.text("topic"), table, settings, context, decoder)]


def open_inflow(table: Table, settings: Settings, context: ConnectorContext) -> TopicInflow:
    """Connect to the brokers of the table.

    Raises:
        FsqlError: E531, E533 or E534, if the topic cannot be read.
    """
    return TopicInflow(topic_of(settings, context), lines_of(table, settings), context.on_notice)
