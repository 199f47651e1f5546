"""Decoders and encoders by the name of their format.

The modules of a format are imported where they are needed: a job loads no format that it does not use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.logical import SinkTable
    from fsql.compiler.schema import Schema
    from fsql.formats.lines import LineDecoder, LineEncoder
    from fsql.formats.settings import Settings


class DecoderModule(Protocol):
    """The module `decoder` of a format of lines."""

    def make_decoder(self, columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
        """Return what makes the decoder of one split of a table with these columns.

        Raises:
            FsqlError: E534, if the settings ask for what cannot be.
        """


class EncoderModule(Protocol):
    """The module `encoder` of a format of lines."""

    def make_encoder(self, sink: SinkTable, settings: Settings) -> LineEncoder:
        """Return the encoder of what goes to a table.

        Raises:
            FsqlError: E534, if the settings ask for what cannot be.
        """


def make_decoder(columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
    """Return what makes the decoder of one split, by the option `format`.

    Raises:
        FsqlError: E534, if the settings ask for what cannot be.
    """
    module = import_module(f"fsql.formats.{settings.text('format')}.decoder")
    return cast("DecoderModule", module).make_decoder(columns, settings)


def make_encoder(sink: SinkTable, settings: Settings) -> LineEncoder:
    """Return the encoder of what goes to a table, by the option `format`.

    Raises:
        FsqlError: E534, if the settings ask for what cannot be.
    """
    module = import_module(f"fsql.formats.{settings.text('format')}.encoder")
    return cast("EncoderModule", module).make_encoder(sink, settings)
