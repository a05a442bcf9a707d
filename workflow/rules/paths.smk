# Where everything lies, and which files belong to what.

from mbert_atlas.sources import snapshot_path


def upstream(path):
    """Where an upstream file lies: written by the miniature, or fetched."""
    return f"<results>/{little_world(path)}/{path}" if CONFIG.miniature else f"<downloads>/{path}"


def little_world(path):
    """The rule that writes an upstream file; texts to pretrain on are many, so each has its own."""
    if path.startswith("cc100/"):
        return f"miniature_texts_{Path(path).name.partition('.')[0]}"
    return "miniature"


def sources(dataset, language):
    """The upstream files of one language of a dataset, as the config's `Source` records."""
    return datasets.sources(dataset, CONFIG.datasets[dataset], language, LANGUAGES)


def source_files(dataset, language):
    """The paths of :func:`sources`, partners included."""
    return [
        upstream(path)
        for item in sources(dataset, language)
        for path in [item.path, *item.partners]
    ]


def all_source_files(dataset):
    """The upstream files of every language of a dataset, each once."""
    found = [
        path
        for language in CONFIG.datasets[dataset].languages
        for path in source_files(dataset, language)
    ]
    return list(dict.fromkeys(found))


def described(dataset, languages=None):
    """A dataset's config with its sources spelled out: the parameter of the rules that read it."""
    item = CONFIG.datasets[dataset]
    return {
        **item.model_dump(mode="json", exclude={"files", "files_by_language", "languages"}),
        "sources": {
            language: [
                source.model_dump(mode="json")
                | {
                    "path": upstream_path(source.path),
                    "partners": [upstream_path(partner) for partner in source.partners],
                }
                for source in sources(dataset, language)
            ]
            for language in languages or item.languages
        },
    }


def upstream_path(path):
    """:func:`upstream` with the folders filled in, for parameters."""
    return upstream(path).replace("<results>", RESULTS).replace("<downloads>", CONFIG.downloads)


def encoder_folder(name):
    """Where an encoder of the config lies."""
    encoder = CONFIG.encoders[name]
    if name in SHIPPED:
        return f"<results>/encoders/{name}/shipped"
    if encoder.scratch or encoder.changed:
        return f"<results>/encoders/{name}/model"
    if encoder.folder:
        return encoder.folder
    return f"<downloads>/{encoder_path(name)}"


def encoder_path(name):
    """Path of a hub encoder's snapshot in the layout of mirrors and downloads."""
    hub = CONFIG.encoders[name].hub
    return snapshot_path(hub.repository, hub.revision)


def tokenizer_folder(name):
    """Where its tokenizer lies; a pretrained encoder's is there before the encoder is."""
    if (scratch := CONFIG.encoders[name].scratch) and name not in SHIPPED:
        if scratch.tokenizer_of:
            return tokenizer_folder(scratch.tokenizer_of)
        return f"<results>/encoders/{name}/tokenizer"
    if CONFIG.encoders[name].changed:
        return f"<results>/encoders/{name}/extended"
    return encoder_folder(name)


def tokenised_by(name):
    """The encoder under whose name texts are tokenised: its own, or that whose tokenizer it has."""
    scratch = CONFIG.encoders[name].scratch
    return (scratch.tokenizer_of if scratch else None) or name


DRAWS = {run for search in RUNS.searches() for run in RUNS.draws(search)}
"""The runs of all searches: they leave predictions only."""

STATIC = {name: item.encoder for name, item in CONFIG.static_vectors.items()}
"""Static vectors of word pieces: the encoder whose tokenizer and texts they share."""


def model_folder(run, seed):
    """The model that a run leaves."""
    return f"<results>/runs/{run.id}/seed{seed}/model"


def weights(path):
    """The model that a run leaves, as an output: it goes when its last reader has run.

    See :func:`keep_weights_of_single_targets`.
    """
    return directory(path) if CONFIG.keep_models else temp(directory(path))


def start_folder(run, seed):
    """The model that a run starts from."""
    # A run that starts from this one may have other seeds, as draws of a search have.
    seeds = {number for item in RUNS if run.id in (item.id, item.start) for number in item.seeds}
    if int(seed) not in seeds:
        known = ", ".join(map(str, sorted(seeds)))
        raise WorkflowError(f"The run {run.id} has no seed {seed}; its seeds are {known}.")
    if run.start:
        return model_folder(RUNS[run.start], seed)
    return encoder_folder(run.base)


def pairs_folder(run):
    """The word pairs that an adjustment pulls together, as token ids."""
    return f"<results>/tokens/{run.base}/pairs/{run.specification['bitext']}/{run.language}/train"


def table(dataset, language=None):
    """The Parquet file of a dataset (of one language, where it is made language by language)."""
    if CONFIG.datasets[dataset].corpus in ("wikipedia", "plain_text", "bitext", "dictionary"):
        return f"<results>/data/{dataset}/{language}.parquet"
    return f"<results>/data/{dataset}.parquet"


def encoding_name(run):
    """Name of the encoding of a fine-tuning run."""
    return CONFIG.runs[run.family].encoding


def gold_dataset(dataset, language):
    """The gold links that go with a bitext, if that language has some."""
    name = CONFIG.alignment.gold.get(dataset)
    return name if name and language in CONFIG.datasets[name].languages else None


def gold_files(wildcards):
    name = gold_dataset(wildcards.dataset, wildcards.language)
    return source_files(name, wildcards.language) if name else []


def gold_sources(wildcards):
    name = gold_dataset(wildcards.dataset, wildcards.language)
    return described(name, [wildcards.language])["sources"][wildcards.language] if name else []


def pretraining_texts(wildcards):
    """The running texts of an encoder that is pretrained: all languages, or those of a change."""
    encoder = CONFIG.encoders[wildcards.encoder]
    if changed := encoder.changed:
        return [table(name, language) for name in changed.texts for language in changed.languages]
    scratch = encoder.scratch
    return [
        table(name, language)
        for name in scratch.texts
        for language in CONFIG.datasets[name].languages
        if language in (scratch.languages or [language])
    ]


def aligned_start(name):
    """Where the translations come from that an encoder's word embeddings begin with, if they do."""
    scratch = CONFIG.encoders[name].scratch
    return scratch.aligned_start if scratch else None


def pretraining(name):
    """The hyperparameters of its pretraining, which starts from scratch or from a changed encoder."""
    encoder = CONFIG.encoders[name]
    return encoder.changed.training if encoder.changed else encoder.scratch.pretraining


def example_folder(run, dataset):
    return f"<results>/tokens/{tokenised_by(run.base)}/examples/{encoding_name(run)}/{dataset}"


def encoded(encoder, item):
    """The token store of an `EncodedDataset` under an encoder's tokenizer."""
    item = item if isinstance(item, dict) else item.model_dump()
    return f"<results>/tokens/{tokenised_by(encoder)}/examples/{item['encoding']}/{item['dataset']}"


def static_examples(wildcards):
    """The examples that a family of fine-tunings learns from and predicts, as static vectors see them."""
    family, encoder = CONFIG.runs[wildcards.family], STATIC[wildcards.static]
    return [
        encoded(encoder, {"dataset": dataset, "encoding": family.encoding})
        for dataset in [family.train, *family.evaluate]
    ]


def dictionary_tables(wildcards):
    """The dictionaries that words of a language are taken from: all of them for English."""
    languages = (
        CONFIG.datasets[wildcards.dictionary].languages
        if wildcards.language == "en"
        else [wildcards.language]
    )
    return [table(wildcards.dictionary, language) for language in languages]


def dictionary_side(wildcards):
    """Parameter: the column of a dictionary that has the words of a language."""
    return "source" if wildcards.language == "en" else "target"


def unit_of(family):
    """What a family of fine-tuning runs predicts: texts, tokens, or trees."""
    task = CONFIG.encodings[CONFIG.runs[family].encoding].task
    units = {"tagging": "token", "ner": "token", "parsing": "tree"}
    return units.get(task, "text")


def method_inputs(run):
    """The files that the methods of a fine-tuning run need, by name."""
    found = {}
    if "replay" in run.specification:  # what the adjustment before it was made from
        found["replay_pairs"] = pairs_folder(RUNS[run.start])
        found["replay_encoder"] = encoder_folder(run.base)
    selection = run.specification["hyperparameters"]["selection"] or {}
    if development := selection.get("development"):
        found["development"] = example_folder(run, development)
    if data := run.specification.get("language_data"):
        if run.specification["hyperparameters"]["confusion"]:
            found["confusion_texts"] = encoded(run.base, data)
        else:
            found["language_directions"] = directions_folder(run.base, data["dataset"])
    return found


def directions_folder(encoder, dataset, languages="all"):
    """The directions that tell languages apart: all of a dataset, or one of `LANGUAGE_SETS`."""
    return f"<results>/directions/{encoder}/{dataset}/{languages}"


def vectors_folders(encoder, dataset, languages=None):
    """The token vectors of a dataset, or of those of its groups that have one of the languages."""
    return [
        f"<results>/vectors/{encoder}/{dataset}/{number}"
        for number, group in enumerate(language_parts(dataset))
        if languages is None or set(group) & set(languages)
    ]


def language_parts(dataset):
    """The languages of a dataset of running texts in groups, each of which one job encodes."""
    languages, size = CONFIG.datasets[dataset].languages, VECTORS[dataset]["languages_per_job"]
    return [languages[start : start + size] for start in range(0, len(languages), size)]


def choose_by(search, protocol):
    """The metric and the languages that tell the best draw of a search."""
    run = RUNS[next(iter(RUNS.draws(search)))]
    found = CONFIG.runs[run.family].search.choose_by.model_dump()[protocol]
    languages = found["languages"] or []
    filled = [code.replace("{language}", run.language or "") for code in languages]
    return {"unit": unit_of(run.family), **found, "languages": filled or None}


def choice_of(run):
    """What the search has chosen for a run, where it is to be taken."""
    searched = run.specification.get("search")
    return f"<results>/search/{searched}.json" if searched else []


def features_folder(wildcards):
    """The features under a run's model."""
    return f"<results>/features/{wildcards.features}/{model_of_features(wildcards)}"


def points_folder(wildcards):
    """The sample that is kept of them."""
    return f"<results>/points/{wildcards.features}/{model_of_features(wildcards)}"


def model_of_features(wildcards):
    """The run and the seed; a frozen encoder's features are the same for all of them."""
    run = RUNS[wildcards.run]
    is_frozen = run.specification["hyperparameters"]["trained_layers"] == "none"
    return run.base if is_frozen else f"{run.id}/seed{wildcards.seed}"


def distance_models(wildcards):
    """Model folders of one seed by panel and protocol; protocols that share a model name both."""
    found = {}
    for panel, name in DISTANCES[wildcards.distances]["panels"][wildcards.language].items():
        by_folder = {}
        for protocol in PROTOCOLS:
            if name in CONFIG.encoders:
                by_folder.setdefault(encoder_folder(name), []).append(protocol)
                continue
            run = RUNS.get(name, wildcards.language, protocol)
            if int(wildcards.seed) in run.seeds:
                by_folder.setdefault(model_folder(run, wildcards.seed), []).append(protocol)
        found |= {f"{panel}:{'+'.join(names)}": folder for folder, names in by_folder.items()}
    return found


def transfer_cells(name):
    """Every prediction file behind a table of transfer, with the cell that it belongs to."""
    table = TRANSFER[name]
    return [
        {
            "task": task,
            "kind": run.specification["encoding"]["task"],
            "dataset": test.dataset,
            "source": source,
            "language": language,
            "condition": condition,
            "protocol": protocol,
            "seed": seed,
            "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet",
            "questions": getattr(dataset, "questions", "same"),
            "normalisation": test.normalisation,
        }
        for task, test in table.tests.items()
        for dataset in [CONFIG.datasets[test.dataset]]
        for source, condition, shown in table.families(test)
        for family, _, own in [shown.partition("/")]
        for language in test.languages or table.languages
        if language in dataset.languages
        for protocol in PROTOCOLS
        for run in [RUNS.get(family, own or language, protocol)]
        for seed in run.seeds
    ]
