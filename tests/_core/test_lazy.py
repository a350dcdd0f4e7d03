import pytest

import disambig


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'disambig' has no attribute 'nonsense'"):
        disambig.nonsense  # noqa: B018
