"""The broker of the tests of connector `kafka`."""

from __future__ import annotations

import pytest

from fsql.tests.kafka.broker import Broker


@pytest.fixture(scope="session")
def broker() -> Broker:
    return Broker()
