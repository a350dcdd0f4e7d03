"""Networks of torchvision and timm, told by stand-ins for these packages that tests write.

Weights cannot be fetched where tests run, and torchvision has no build for every torch, so the
stand-ins have the functions of these libraries that are called, and tiny networks.
"""

import io
import pickle
import sys
import textwrap
import weakref

import numpy as np
import pytest
import torch
from image_tables import draw, write_signs
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from disambig import DisambigError, fit_table
from disambig.tabular import DescribedColumns
from disambig.tabular.described.image_models import find_image_describer

TORCHVISION = """
    from enum import Enum
    import numpy as np
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 5, 3)
            self.norm = nn.BatchNorm2d(5)
            self.head = nn.Sequential(nn.Dropout(), nn.Linear(5, 10))

        def forward(self, images):
            return self.head(self.norm(self.conv(images)).mean(dim=(2, 3)))

    def transform(image):
        pixels = np.asarray(image.resize((16, 16)), dtype=np.float32) / 255
        return torch.as_tensor(pixels).permute(2, 0, 1)

    class Weights:
        url = "https://example.org/tiny-1234.pth"
        def transforms(self):
            return transform

    class Known:
        DEFAULT = Weights()

    def list_models(module=None):
        return ["tiny", "tiny_deep"]

    def get_model(name, weights):
        assert weights is None
        return Net()

    def get_model_weights(name):
        return Known
"""
TIMM = """
    from torchvision import models

    def list_models():
        return ["tiny"]

    def create_model(name, pretrained, num_classes):
        assert not pretrained and num_classes == 0
        if "." in name:
            raise RuntimeError("Invalid pretrained tag.")
        net = models.Net()
        net.head = models.nn.Identity()
        net.pretrained_cfg = {"hf_hub_id": "timm/tiny"}
        return net
"""
TIMM_DATA = """
    from torchvision import models

    def resolve_model_data_config(model):
        return {"size": 16}

    def create_transform(size, is_training):
        assert size == 16 and not is_training
        return models.transform
"""
HUB = """
    import os
    def try_to_load_from_cache(repository, name):
        path = os.environ["HUB"] + "/" + repository.replace("/", "-") + "-" + name
        return path if os.path.exists(path) else None
"""


@pytest.fixture
def libraries(tmp_path, monkeypatch):
    """Stand-ins for torchvision and timm, and a folder for weights."""
    for name, code in {
        "torchvision/__init__": "",
        "torchvision/models": TORCHVISION,
        "timm/__init__": TIMM,
        "timm/data": TIMM_DATA,
        "huggingface_hub": HUB,
    }.items():
        path = tmp_path / "packages" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(code))
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("torchvision", "timm", "huggingface_hub"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setenv("HUB", str(tmp_path))
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "torch"))
    yield tmp_path
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("torchvision", "timm", "huggingface_hub"):
            del sys.modules[name]


def trained(seed=0):
    """Return a network with weights of its own."""
    from torchvision import models

    torch.manual_seed(seed)
    net = models.Net()
    net.norm.running_mean += 0.3
    return net.eval()


def contents(*seeds):
    found = []
    for seed in seeds:
        stream = io.BytesIO()
        draw("disc", seed).save(stream, "PNG")
        found.append(stream.getvalue())
    return found


def test_photos_are_not_kept_while_others_are_opened(libraries, monkeypatch):
    from torchvision import models

    seen, alive = [], []
    transform = models.transform

    def watched(image):
        alive.append(sum(one() is not None for one in seen))
        seen.append(weakref.ref(image))
        return transform(image)

    path = libraries / "weights.pth"
    torch.save(trained().state_dict(), path)
    monkeypatch.setattr(models, "transform", watched)
    find_image_describer(f"torchvision:tiny:{path}").describe(contents(1, 2, 3))

    assert alive == [0, 0, 0, 0]


def test_a_line_of_pixels_is_not_blown_up(libraries):
    path = libraries / "weights.pth"
    torch.save(trained().state_dict(), path)
    stream = io.BytesIO()
    Image.new("RGB", (4000, 3)).save(stream, "PNG")

    (reason,) = find_image_describer(f"torchvision:tiny:{path}").describe([stream.getvalue()])

    assert reason == "is more than 100 times as long as wide"


def said_before_the_last_layer(net, seeds):
    from torchvision import models

    with torch.no_grad():
        images = torch.stack([models.transform(draw("disc", seed)) for seed in seeds])
        return net.norm(net.conv(images)).mean(dim=(2, 3)).numpy()


@pytest.mark.parametrize("suffix", ["pth", "safetensors"])
def test_an_image_is_what_the_network_says_before_its_last_layer(libraries, suffix):
    net, path = trained(), libraries / f"weights.{suffix}"
    state = {name: value.contiguous() for name, value in net.state_dict().items()}
    save_file(state, path) if suffix == "safetensors" else torch.save(state, path)

    describer = find_image_describer(f"torchvision:tiny:{path}")
    first, broken, second = describer.describe([*contents(1), b"nothing", *contents(2)])

    assert describer.width == 5
    expected = said_before_the_last_layer(net, (1, 2))
    np.testing.assert_allclose([first, second], expected, atol=1e-5)
    assert "format is not known" in broken


def test_weights_are_found_where_libraries_keep_them(libraries):
    net = trained()
    kept = libraries / "torch" / "checkpoints"
    kept.mkdir(parents=True)
    torch.save({"state_dict": net.state_dict()}, kept / "tiny-1234.pth")
    save_file(net.state_dict(), libraries / "timm-tiny-model.safetensors")

    expected = said_before_the_last_layer(net, [3])
    for name in ("torchvision:tiny", "timm:tiny"):
        np.testing.assert_allclose(
            find_image_describer(name).describe(contents(3)), expected, atol=1e-5
        )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torchvision:tiny", "There is no file .*tiny-1234.pth.*torchvision:tiny:FILE"),
        ("timm:tiny", r"None are in the cache of timm.*timm.create_model\('tiny', pretrained=True"),
        ("torchvision:tiny:gone.pth", "nothing is downloaded here. There is no file 'gone.pth'"),
        ("torchvision:tinny", "torchvision has no network called 'tinny'. Did you mean 'tiny'"),
        ("timm:hf-hub:somebody/tiny", "timm has no network called 'hf-hub'"),
        ("timm:tiny.strange", "timm cannot make 'tiny.strange': Invalid pretrained tag"),
        ("timm:some/body", "described by 'built-in', or by a pretrained network"),
        ("resnet18", "described by 'built-in', or by a pretrained network"),
        ("keras:resnet18", "described by 'built-in', or by a pretrained network"),
    ],
)
def test_weights_that_cannot_be_had_are_told_with_what_to_do(libraries, name, message):
    with pytest.raises(DisambigError, match=message):
        find_image_describer(name)


class Attack:
    def __reduce__(self):
        return (open, ("attacked", "w"))


def test_a_file_of_weights_is_never_run(libraries, monkeypatch):
    monkeypatch.chdir(libraries)
    (libraries / "pickled.pth").write_bytes(pickle.dumps(Attack()))
    torch.save({"conv": Attack()}, libraries / "attack.pth")
    torch.save(nn.Linear(2, 2).state_dict(), libraries / "other.pth")
    deeper = {f"layer{n}.weight": torch.zeros(2) for n in range(5)}
    torch.save(trained().state_dict() | deeper, libraries / "deeper.pth")
    (libraries / "damaged.safetensors").write_bytes(b"\x10" * 100)

    for name, reason in {
        "pickled.pth": "it is damaged, or holds something other than tensors. Give",
        "attack.pth": "it is damaged, or holds something other than tensors. Give",
        "damaged.safetensors": "it is damaged",
        "other.pth": "it has no conv.weight",
        "deeper.pth": "the network has no layer0.weight, layer1.weight",
    }.items():
        with pytest.raises(DisambigError, match=f"the weights of this network: {reason}"):
            find_image_describer(f"torchvision:tiny:{name}")
    assert not (libraries / "attacked").exists()


@pytest.mark.filterwarnings("ignore:Read 'photo' as images")
def test_new_images_need_the_same_weights(libraries, monkeypatch):
    monkeypatch.chdir(libraries)
    frame = write_signs(libraries, n_rows=30)
    for seed in (0, 1):
        torch.save(trained(seed).state_dict(), libraries / f"weights-{seed}.pth")
    described = DescribedColumns(
        image_model="torchvision:tiny:weights-0.pth", cache=libraries / "kept"
    )
    model = fit_table(frame, described=described, ignore="truth", method="plknn", n_folds=0)
    expected = model.predict_proba(frame)
    (libraries / "weights-0.pth").rename(libraries / "moved.pth")

    moved = DescribedColumns(image_model="torchvision:tiny:moved.pth")
    np.testing.assert_array_equal(model.predict_proba(frame, described=moved), expected)
    with pytest.raises(DisambigError, match="There is no file 'weights-0.pth'"):
        model.predict(frame)
    other = DescribedColumns(image_model="torchvision:tiny:weights-1.pth")
    with pytest.raises(DisambigError, match="weights or its version differ.*--image-model"):
        model.predict(frame, described=other)
