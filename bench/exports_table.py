# SPDX-License-Identifier: Apache-2.0
"""The architectures that exports.py exports: rows() is a list of (name, make); make() gives a model, its arguments and its keyword arguments, on the default device."""
import functools, importlib, inspect

import torch
from torch import nn

LAYERS = 4  # a stack of a transformer is cut to: equal layers are planned once
COUNTS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers", "num_encoder_layers", "num_decoder_layers", "depth")

def floats(*sizes):
    return torch.zeros(sizes)

def ids(*sizes):
    return torch.zeros(sizes, dtype=torch.int64)

def ones(*sizes):
    return torch.ones(sizes, dtype=torch.int64)

# ---- transformers

def shortened(config, most):
    """The counts of layers of a configuration, and of configurations of parts inside, where they are more than most, and lists that say what each layer is; {} where none is."""
    changes = {}
    counts = {v for k, v in vars(config).items() if k.lstrip("_") in COUNTS and isinstance(v, int) and v > most}
    for key, value in vars(config).items():
        key = key.lstrip("_")
        if hasattr(value, "to_diff_dict"):
            inside = shortened(value, most)
            if inside:
                changes[key] = {**value.to_diff_dict(), **inside}
        elif key in COUNTS and isinstance(value, int) and value > most:
            changes[key] = most
        elif isinstance(value, (list, tuple)) and len(value) in counts and isinstance(value[0], str):
            changes[key] = list(value[:most])
    return changes

def text_inputs(config, tokens):
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    most = getattr(text, "max_position_embeddings", None) or tokens
    given = {"input_ids": ids(1, min(tokens, most if isinstance(most, int) and most > 1 else tokens))}
    if getattr(config, "is_encoder_decoder", False):
        given["decoder_input_ids"] = ids(1, 64)
    return given

def image_size(config):
    part = next((c for c in (getattr(config, "vision_config", None), config) if c is not None and getattr(c, "image_size", None)), None)
    size = getattr(part, "image_size", None) or 224
    return tuple(size[-2:]) if isinstance(size, (list, tuple)) else (size, size)

def inputs(model, config, tokens):
    names = inspect.signature(model.forward).parameters
    main = model.main_input_name
    vision = getattr(config, "vision_config", config)
    if main == "pixel_values" and "input_ids" not in names:
        return {main: floats(1, getattr(vision, "num_channels", 3), *image_size(config))}
    if main == "input_values":
        return {main: floats(1, 16000)}
    if main == "input_features":
        bins = getattr(config, "num_mel_bins", None) or getattr(config, "input_feat_per_channel", None) or 80
        given = {main: floats(1, bins, 3000)}
        return {**given, "decoder_input_ids": ids(1, 64)} if getattr(config, "is_encoder_decoder", False) else given
    given = text_inputs(config, tokens)
    if "pixel_values" in names and hasattr(config, "vision_config"):
        given["pixel_values"] = floats(1, getattr(vision, "num_channels", 3), *image_size(config))
    return given

def transformer(kind, of=None, give=None, tokens=512, layers=LAYERS, **changes):
    """The model of transformers that belongs to a kind of configuration. of: another class of it; give: its inputs; changes: to its configuration."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_MAPPING
    config_class = CONFIG_MAPPING[kind]
    config = config_class(**changes)
    config = config_class(**{**shortened(config, layers), **changes})
    for part in (config, *(v for v in vars(config).values() if hasattr(v, "to_dict"))):
        if hasattr(part, "use_cache"):
            part.use_cache = False
    found = getattr(transformers, of) if of else MODEL_MAPPING[config_class]
    model = (found[0] if isinstance(found, (tuple, list)) else found)(config)
    return model, (), give() if give else inputs(model, config, tokens)

def image(size):
    return lambda: {"pixel_values": floats(1, 3, size, size)}

def sound(samples):
    return lambda: {"input_values": floats(1, samples)}

def spectrogram(frames, bins):
    return lambda: {"input_features": floats(1, frames, bins)}

def words_and_image(tokens, size, **more):
    return lambda: {"input_ids": ids(1, tokens), "pixel_values": floats(1, 3, size, size), **{k: v() for k, v in more.items()}}

def series(length, future, features):
    return lambda: {"past_values": floats(1, length), "past_time_features": floats(1, length, features), "past_observed_mask": floats(1, length),
                    "future_values": floats(1, future), "future_time_features": floats(1, future, features)}

FORECAST = dict(give=series(55, 24, 2), prediction_length=24, context_length=48, num_time_features=2)
# Kinds of configurations by their names in transformers, with what transformer() is told of each.
USUAL = """
albert bart bert bloom canine cohere2 convbert ctrl deberta-v2 distilbert falcon fnet funnel gemma2 gemma3_text glm4 gpt2 gpt_bigcode gpt_neo gpt_neox gptj led lfm2 llama
longformer luke m2m_100 minicpm3 mistral mobilebert modernbert mpnet mpt nystromformer olmo2 opt pegasus_x phi3 qwen2 qwen3 t5 t5gemma
xlnet yoso diffllama
deepseek_v3 gpt_oss granitemoe jetmoe llama4_text mixtral nllb-moe olmoe qwen3_moe
bamba falcon_h1 granitemoehybrid kimi_linear mamba2 nemotron_h olmo_hybrid qwen3_next
beit convnextv2 cvt dinov2 dinov3_vit dpt focalnet glpn hiera levit mobilenet_v2 mobilevitv2 poolformer pvt_v2 sam_vision_model segformer swin2sr swinv2 vit_mae vitdet yolos
clipseg hubert sew-d wav2vec2 wav2vec2-conformer wavlm whisper
align clip flava groupvit siglip
""".split()
TRANSFORMERS = {
    **{kind: {} for kind in USUAL},
    **{kind: dict(give=lambda: {"input_ids": ids(1, 512), "attention_mask": ones(1, 512), "decoder_input_ids": ids(1, 64)}) for kind in ("longt5", "switch_transformers")},
    "big_bird": dict(tokens=1024), "nemotron": dict(num_key_value_heads=8), "esm": dict(vocab_size=33, pad_token_id=1), "gemma3n_text": dict(num_kv_shared_layers=0),
    "deepseek_v2": dict(num_experts_per_tok=6, n_routed_experts=64, topk_method="greedy"), "audio-spectrogram-transformer": dict(give=lambda: {"input_values": floats(1, 1024, 128)}), "imagegpt": dict(tokens=256),
    "mamba": dict(tokens=64), "falcon_mamba": dict(tokens=64, layers=2), "zamba": dict(tokens=64, layers=8), "zamba2": dict(layers=8), "jamba": dict(layers=8, tokens=64),
    "recurrent_gemma": dict(tokens=64), "rwkv": dict(tokens=64), "xlstm": dict(tokens=64, layers=2),
    "informer": {**FORECAST, "distil": False}, "time_series_transformer": FORECAST,
    "patchtst": dict(give=lambda: {"past_values": floats(8, 512, 7)}, num_input_channels=7, context_length=512),
    "patchtsmixer": dict(give=lambda: {"past_values": floats(8, 512, 7)}, num_input_channels=7, context_length=512),
    "timesfm": dict(give=lambda: {"past_values": floats(1, 512), "past_values_padding": floats(1, 512), "freq": ids(1, 1)}),
    "decision_transformer": dict(give=lambda: {"states": floats(1, 20, 17), "actions": floats(1, 20, 4), "rewards": floats(1, 20, 1), "returns_to_go": floats(1, 20, 1),
                                               "timesteps": ids(1, 20), "attention_mask": floats(1, 20)}),
    "rt_detr": dict(give=image(640)), "rt_detr_v2": dict(give=image(640)), "d_fine": dict(give=image(640)), "rf_detr": dict(give=image(560), layers=99),
    "deformable_detr": dict(give=image(640)), "detr": dict(give=image(640)),
    "mask2former": dict(give=image(384)), "oneformer": dict(give=lambda: {**image(384)(), "task_inputs": ids(1, 77)}, is_training=False),
    "superpoint": dict(of="SuperPointForKeypointDetection", give=image(480)),
    "videomae": dict(give=lambda: {"pixel_values": floats(1, 16, 3, 224, 224)}), "timesformer": dict(give=lambda: {"pixel_values": floats(1, 8, 3, 224, 224)}),
    "vivit": dict(give=lambda: {"pixel_values": floats(1, 32, 3, 224, 224)}), "vjepa2": dict(give=lambda: {"pixel_values_videos": floats(1, 16, 3, 256, 256)}),
    "speech_to_text": dict(give=lambda: {**spectrogram(1024, 80)(), "decoder_input_ids": ids(1, 64)}),
    "parakeet_encoder": dict(give=spectrogram(1024, 80)), "moonshine": dict(give=lambda: {**sound(16000)(), "decoder_input_ids": ids(1, 64)}),
    "encodec": dict(give=lambda: {"input_values": floats(1, 1, 24000)}), "dac": dict(give=lambda: {"input_values": floats(1, 1, 16000)}),
    "mimi": dict(give=lambda: {"input_values": floats(1, 1, 24000)}), "univnet": dict(give=lambda: {"input_features": floats(1, 128, 100), "noise_sequence": floats(1, 128, 64)}),
    "speecht5_hifigan": dict(of="SpeechT5HifiGan", give=lambda: {"spectrogram": floats(1, 128, 80)}), "vits": dict(give=lambda: {"input_ids": ids(1, 64)}),
    "vilt": dict(give=words_and_image(40, 384, pixel_mask=lambda: ones(1, 384, 384))), "blip": dict(of="BlipForImageTextRetrieval", give=words_and_image(64, 384)),
    "layoutlmv3": dict(give=words_and_image(512, 224, bbox=lambda: ids(1, 512, 4))), "owlvit": dict(give=words_and_image(16, 768)), "git": dict(give=words_and_image(64, 224)),
    "bridgetower": dict(give=words_and_image(40, 288)), "grounding-dino": dict(give=words_and_image(32, 640)),
    "lxmert": dict(give=lambda: {"input_ids": ids(1, 20), "visual_feats": floats(1, 36, 2048), "visual_pos": floats(1, 36, 4)}),
    "visual_bert": dict(give=lambda: {"input_ids": ids(1, 64), "visual_embeds": floats(1, 36, 512)}),
    "blip_2_qformer": dict(give=lambda: {"query_embeds": floats(1, 32, 768), "encoder_hidden_states": floats(1, 257, 1408)}),
    "qwen2_vl_text": {}, "llava": dict(give=lambda: {"input_ids": torch.full((1, 640), 32000), "pixel_values": floats(1, 3, 336, 336)}),
    "pixtral": dict(give=image(512)),
}

# ---- timm, torchvision, diffusers

def timm_model(name, size=None):
    import timm
    model = timm.create_model(name)
    size = size or model.default_cfg.get("input_size", (3, 224, 224))[-1]
    return model, (floats(1, 3, size, size),), {}

def torchvision_model(family, name, *sizes, arguments=1, **changes):
    module = importlib.import_module("torchvision.models" + (f".{family}" if family else ""))
    inputs = tuple(floats(*sizes) for _ in range(arguments))
    return getattr(module, name)(weights=None, **changes), ([*inputs],) if family == "detection" else inputs, {}

def of_diffusers(name, give, **changes):
    import diffusers
    return getattr(diffusers, name)(**changes), (), {**give(), "return_dict": False}

def latents(size, channels=4, width=768, tokens=77, **more):
    return lambda: {"sample": floats(1, channels, size, size), "timestep": torch.ones(()), "encoder_hidden_states": floats(1, tokens, width), **{k: v() for k, v in more.items()}}

def tokens_of_latents(size, channels, **more):
    return lambda: {"hidden_states": floats(1, channels, size, size), "timestep": torch.ones(1), **{k: v() for k, v in more.items()}}

FOUR = dict(block_out_channels=(320, 640, 1280, 1280), cross_attention_dim=768, attention_head_dim=8, sample_size=64)
DIFFUSERS = {
    "stable_diffusion_unet": ("UNet2DConditionModel", latents(64), FOUR),
    "stable_diffusion_xl_unet": ("UNet2DConditionModel", latents(64, width=2048, added_cond_kwargs=lambda: {"text_embeds": floats(1, 1280), "time_ids": floats(1, 6)}),
                                 dict(sample_size=64, block_out_channels=(320, 640, 1280), down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
                                      up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=2048, attention_head_dim=(5, 10, 20),
                                      transformer_layers_per_block=(1, 2, 4), use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=256,
                                      projection_class_embeddings_input_dim=2816)),
    "control_net": ("ControlNetModel", latents(64, controlnet_cond=lambda: floats(1, 3, 512, 512)), {k: v for k, v in FOUR.items() if k != "sample_size"}),
    "ddpm_unet": ("UNet2DModel", lambda: {"sample": floats(1, 3, 64, 64), "timestep": torch.ones(())}, dict(sample_size=64)),
    "vae": ("AutoencoderKL", lambda: {"sample": floats(1, 3, 256, 256)}, dict(block_out_channels=(128, 256, 512, 512), down_block_types=("DownEncoderBlock2D",) * 4,
                                                                             up_block_types=("UpDecoderBlock2D",) * 4, layers_per_block=2)),
    "vq_vae": ("VQModel", lambda: {"sample": floats(1, 3, 64, 64)}, {}),
    "dit": ("DiTTransformer2DModel", tokens_of_latents(32, 4, class_labels=lambda: ids(1)), dict(num_layers=LAYERS)),
    "pixart": ("PixArtTransformer2DModel", tokens_of_latents(64, 4, encoder_hidden_states=lambda: floats(1, 120, 4096)),
               dict(sample_size=64, num_layers=LAYERS, caption_channels=4096, use_additional_conditions=False)),
    "stable_diffusion_3": ("SD3Transformer2DModel", tokens_of_latents(64, 16, encoder_hidden_states=lambda: floats(1, 154, 4096), pooled_projections=lambda: floats(1, 2048)),
                           dict(sample_size=64, num_layers=LAYERS)),
    "flux": ("FluxTransformer2DModel", lambda: {"hidden_states": floats(1, 1024, 64), "encoder_hidden_states": floats(1, 512, 4096), "pooled_projections": floats(1, 768),
                                                "timestep": torch.ones(1), "guidance": torch.ones(1), "img_ids": floats(1024, 3), "txt_ids": floats(512, 3)},
             dict(num_layers=2, num_single_layers=LAYERS, guidance_embeds=True)),
}

# ---- plain torch.nn

class Tagger(nn.Module):
    """A bidirectional LSTM of two layers over embedded words; a class for each word."""
    def __init__(self, recurrent=nn.LSTM, both_ways=True, words=10000, width=256, classes=32, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.recurrent = recurrent(width, width, layers, batch_first=True, bidirectional=both_ways)
        self.head = nn.Linear(width * (1 + both_ways), classes)

    def forward(self, words):
        return self.head(self.recurrent(self.embedding(words))[0])

class Convolutions(nn.Module):
    """Dilated convolutions over time with gates and residuals, as in WaveNet."""
    def __init__(self, width=64, layers=8):
        super().__init__()
        self.gated = nn.ModuleList(nn.Conv1d(width, 2 * width, 3, padding=2 ** i, dilation=2 ** i) for i in range(layers))
        self.out = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers))

    def forward(self, x):
        for gated, out in zip(self.gated, self.out):
            a, b = gated(x).chunk(2, 1)
            x = x + out(torch.tanh(a) * torch.sigmoid(b))
        return x

class Graph(nn.Module):
    """Two layers of message passing: what comes along the edges is summed or averaged at each node."""
    def __init__(self, width=128, classes=16):
        super().__init__()
        self.message, self.update = nn.Linear(2 * width, width), nn.GRUCell(width, width)
        self.own, self.mean, self.head = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        m = torch.relu(self.message(torch.cat((x[source], x[target]), 1)))
        x = self.update(torch.zeros_like(x).index_add(0, target, m), x)
        mean = torch.zeros_like(x).scatter_reduce(0, target[:, None].expand(-1, x.shape[1]), x[source], "mean", include_self=False)
        return self.head(torch.relu(self.own(x) + self.mean(mean)))

class Bags(nn.Module):
    """Bags of words, averaged, and a classifier."""
    def __init__(self, words=100000, width=128, classes=20):
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(words, width, mode="mean"), nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, classes))

    def forward(self, words):
        return self.head(self.bag(words))

def plain(model, *inputs):
    return lambda: (model(), tuple(x() for x in inputs), {})

def decomposed(make):
    make.core_aten = True
    return make

def language_model(kind, both_ways=False):
    return plain(lambda: Tagger(kind, both_ways, classes=10000), lambda: ids(4, 64))

PLAIN = {
    "lstm_tagger": plain(Tagger, lambda: ids(4, 64)), "lstm_tagger_unrolled": decomposed(plain(Tagger, lambda: ids(4, 64))),
    "rnn_tagger": plain(lambda: Tagger(nn.RNN), lambda: ids(4, 64)),
    "lstm_language_model": language_model(nn.LSTM), "lstm_language_model_unrolled": decomposed(language_model(nn.LSTM)),
    "gru_language_model": language_model(nn.GRU), "gru_language_model_both_ways": language_model(nn.GRU, True), "gru_language_model_unrolled": decomposed(language_model(nn.GRU)),
    "transformer_encoder": plain(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8, batch_first=True), LAYERS, enable_nested_tensor=False), lambda: floats(4, 128, 512)),
    "transformer": plain(lambda: nn.Transformer(num_encoder_layers=LAYERS, num_decoder_layers=LAYERS, batch_first=True), lambda: floats(4, 128, 512), lambda: floats(4, 64, 512)),
    "wavenet": plain(Convolutions, lambda: floats(4, 64, 8192)), "graph_network": plain(Graph, lambda: floats(10000, 128), lambda: ids(2, 80000)),
    "bags_of_words": plain(Bags, lambda: ids(64, 50)),
}

TORCHVISION = {
    **{n: ("", (8, 3, 224, 224), {}) for n in "alexnet convnext_tiny densenet121 efficientnet_v2_s maxvit_t mobilenet_v3_large resnet50 shufflenet_v2_x1_0 "
       "swin_v2_t vgg16 vit_b_16".split()},
    "googlenet": ("", (8, 3, 224, 224), dict(init_weights=False)), "inception_v3": ("", (8, 3, 299, 299), dict(init_weights=False)),
    **{n: ("segmentation", (1, 3, 512, 512), dict(weights_backbone=None)) for n in ("deeplabv3_resnet50", "fcn_resnet50", "lraspp_mobilenet_v3_large")},
    **{n: ("detection", (3, 512, 512), dict(weights_backbone=None)) for n in ("fasterrcnn_resnet50_fpn", "fcos_resnet50_fpn", "maskrcnn_resnet50_fpn", "retinanet_resnet50_fpn",
                                                                           "ssdlite320_mobilenet_v3_large")},
    "raft_small": ("optical_flow", (1, 3, 128, 128), dict(arguments=2)), "raft_large": ("optical_flow", (1, 3, 128, 128), dict(arguments=2)),
    **{n: ("video", (1, 3, 16, 224, 224), {}) for n in ("mvit_v1_b", "mvit_v2_s", "s3d", "swin3d_t")}, **{n: ("video", (1, 3, 16, 112, 112), {}) for n in ("r3d_18",)},
}
TIMM = """coat_tiny coatnet_0_rw_224 convit_tiny crossvit_15_240 davit_tiny edgenext_small efficientformer_l1 efficientnet_b0 efficientvit_b1 eva02_tiny_patch14_224 fastvit_t8 gcvit_tiny
ghostnet_100 halonet26t hrnet_w18 lambda_resnet26t mambaout_tiny mixer_b16_224 mobilenetv4_conv_small mvitv2_tiny nasnetalarge nextvit_small repvit_m1 resnest50d sequencer2d_s swin_s3_tiny_224
tiny_vit_5m_224 twins_svt_small volo_d1_224 xcit_tiny_12_p16_224""".split()

@functools.lru_cache
def rows():
    made = dict(PLAIN)
    made.update({n: functools.partial(torchvision_model, family, n, *sizes, **more) for n, (family, sizes, more) in TORCHVISION.items()})
    made.update({"timm_" + n: functools.partial(timm_model, n) for n in TIMM})
    made.update({n: functools.partial(of_diffusers, kind, give, **more) for n, (kind, give, more) in DIFFUSERS.items()})
    made.update({n.replace("-", "_"): functools.partial(transformer, n, **more) for n, more in TRANSFORMERS.items()})
    made["jetmoe"].size_of_data = 128  # 512 tokens, 2 of 8 experts each
    return sorted(made.items())
