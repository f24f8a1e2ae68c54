"""The typed dictionaries of scenarios have every key of the schema."""

from __future__ import annotations

import json

from bentpipe import _native, scenario_types
from generators.schema import camel, named, variants


def test_types_have_the_keys_of_the_schema() -> None:
    compared = 0
    for name, definition in named(json.loads(_native.schema())).items():
        tables = [(camel(kind) + name, table) for kind, table in variants(definition)]
        if definition.get("type") == "object" and "properties" in definition:
            tables.append((name, definition))
        for type_name, table in tables:
            found = getattr(scenario_types, type_name)
            # Keys of base classes are among the annotations.
            assert found.__required_keys__ | found.__optional_keys__ == set(table["properties"]), type_name
            compared += 1
    assert compared > 100


def test_tcp_of_a_transport_has_the_type_of_a_proxys_tcp() -> None:
    assert scenario_types.Tcp.__annotations__.items() < scenario_types.TcpTransport.__annotations__.items()
    assert "kind" not in scenario_types.Tcp.__annotations__
