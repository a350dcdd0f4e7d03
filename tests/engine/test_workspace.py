import torch

from disambig.engine.fast.step import Workspace

LIKE = torch.zeros(1)


def test_a_tensor_has_the_shape_asked_for_and_the_type_of_its_example():
    found = Workspace().tensor("a", LIKE.double(), (2, 3, 4))
    assert found.shape == (2, 3, 4)
    assert found.dtype == torch.float64
    assert found.device == LIKE.device


def test_a_name_means_the_same_memory_every_time():
    workspace = Workspace()
    first = workspace.tensor("a", LIKE, (2, 3))
    first.fill_(7)
    assert workspace.tensor("a", LIKE, (6,)).tolist() == [7] * 6


def test_fewer_numbers_take_the_same_memory_and_leave_the_rest():
    workspace = Workspace()
    workspace.tensor("a", LIKE, (6,)).fill_(7)
    workspace.tensor("a", LIKE, (2, 2)).fill_(1)
    assert workspace.tensor("a", LIKE, (6,)).tolist() == [1, 1, 1, 1, 7, 7]


def test_more_numbers_get_more_memory():
    workspace = Workspace()
    workspace.tensor("a", LIKE, (2, 2))
    assert workspace.tensor("a", LIKE, (5, 5)).fill_(3).sum() == 75


def test_names_do_not_share_memory():
    workspace = Workspace()
    first = workspace.tensor("a", LIKE, (4,)).fill_(1)
    workspace.tensor("b", LIKE, (4,)).fill_(2)
    assert first.tolist() == [1, 1, 1, 1]


def test_workspaces_do_not_share_memory():
    first = Workspace().tensor("a", LIKE, (4,)).fill_(1)
    Workspace().tensor("a", LIKE, (4,)).fill_(2)
    assert first.tolist() == [1, 1, 1, 1]


def test_a_name_asked_for_in_another_type_comes_in_that_type():
    workspace = Workspace()
    workspace.tensor("a", LIKE, (4,))
    assert workspace.tensor("a", LIKE.double(), (4,)).dtype == torch.float64
    assert workspace.tensor("a", LIKE, (4,)).dtype == LIKE.dtype
