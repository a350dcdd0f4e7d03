"""Small exports in the formats that the tools document, written by hand."""

import json

PETS = ("meow", "woof", "moo", "hiss")


def choice(*labels, name="animal"):
    """Return an answer of Label Studio to a question with choices."""
    return {
        "id": "x1",
        "from_name": name,
        "to_name": "text",
        "type": "choices",
        "value": {"choices": list(labels)},
    }


def annotation(*results, by=1, **more):
    return {"id": 9, "completed_by": by, "result": list(results), "was_cancelled": False} | more


LABEL_STUDIO = [
    {
        "id": 11,
        "data": {"text": "meow", "weight": 4.1, "source": {"page": 3}},
        "annotations": [
            annotation(choice("cat"), by={"id": 1, "email": "ann@example.org"}),
            annotation(choice("cat", "dog"), by={"id": 2, "email": "bob@example.org"}),
        ],
        "predictions": [{"model_version": "m1", "score": 0.7, "result": [choice("dog")]}],
        "drafts": [],
    },
    {
        "id": 12,
        "data": {"text": "woof", "weight": 20},
        "annotations": [
            annotation(choice("Unsure"), by={"id": 1, "email": "ann@example.org"}),
            annotation(by={"id": 2, "email": "bob@example.org"}, was_cancelled=True),
            annotation(choice("dog"), by=3, ground_truth=True),
        ],
    },
    {"id": 13, "data": {"text": "moo", "weight": None}, "annotations": [], "predictions": []},
]
# What a target storage gets: an annotation, with its task.
LABEL_STUDIO_STORED = annotation(choice("cat", "dog"), by={"id": 1, "email": "ann@example.org"})
LABEL_STUDIO_STORED["task"] = {"id": 11, "data": {"text": "meow"}, "meta": {}, "project": 3}
LABEL_STUDIO_MIN = [
    {
        "text": "meow",
        "id": 11,
        "animal": "cat",
        "annotator": 1,
        "annotation_id": 5,
        "created_at": "2024-01-01T00:00:00Z",
        "updated_at": "2024-01-01T00:00:00Z",
        "lead_time": 2.5,
    },
    {
        "text": "meow",
        "id": 11,
        "animal": {"choices": ["cat", "dog"]},
        "annotator": 2,
        "annotation_id": 6,
        "created_at": "2024-01-01T00:00:00Z",
        "updated_at": "2024-01-01T00:00:00Z",
        "lead_time": 1.5,
    },
]
LABEL_STUDIO_CSV = (
    "animal,annotation_id,annotator,created_at,id,lead_time,text,updated_at\n"
    'cat,5,1,2024-01-01,11,2.5,"meow, loud",2024-01-01\n'
    '"[{""choices"": [""cat"", ""dog""]}]",6,2,2024-01-01,12,1.5,woof,2024-01-01\n'
)
PRODIGY = [
    {"text": "meow", "label": "cat", "answer": "accept", "_input_hash": 7, "_task_hash": 1},
    {"text": "woof", "label": "cat", "answer": "reject", "_input_hash": 8, "_task_hash": 2},
    {"text": "woof", "label": "dog", "answer": "accept", "_input_hash": 8, "_task_hash": 3},
    {"text": "moo", "label": "cat", "answer": "reject", "_input_hash": 9, "_task_hash": 4},
    {"text": "hiss", "label": "cat", "answer": "ignore", "_input_hash": 10, "_task_hash": 5},
]
PRODIGY_CHOICE = [
    {
        "text": text,
        "meta": {"source": "farm"},
        "options": [{"id": "cat", "text": "Cat"}, {"id": "dog", "text": "Dog"}],
        "accept": accepted,
        "answer": answer,
        "_input_hash": 20 + number,
        "_task_hash": 30 + number,
        "_annotator_id": f"pets-{who}",
        "_timestamp": 1700000000,
    }
    for number, text, accepted, answer, who in (
        (1, "meow", ["cat"], "accept", "ann"),
        (1, "meow", ["cat", "dog"], "accept", "bob"),
        (2, "woof", ["dog"], "accept", "ann"),
        (3, "moo", ["dog"], "reject", "ann"),
        (4, "hiss", [], "ignore", "bob"),
    )
]
DOCCANO = [
    {"id": 1, "text": "meow", "label": ["cat"], "Comments": [], "page": 3},
    {"id": 2, "text": "woof", "label": ["cat", "dog"], "Comments": [], "page": 4},
    {"id": 3, "text": "moo", "label": [], "Comments": [], "page": 4},
]
ARGILLA = [
    {
        "id": "a",
        "fields": {"text": "meow"},
        "metadata": {"page": 3},
        "suggestions": {"animal": {"value": "dog", "score": 0.6, "agent": "m1"}},
        "responses": {
            "animal": [{"value": "cat", "user_id": "u1"}, {"value": "dog", "user_id": "u2"}]
        },
        "vectors": {"v": [0.1, 0.2]},
        "status": "completed",
        "_server_id": "s",
    },
    {
        "id": "b",
        "fields": {"text": "woof"},
        "metadata": {"page": 4},
        "suggestions": {},
        "responses": {"animal": [{"value": ["cat", "dog"], "user_id": "u1"}]},
        "vectors": {},
        "status": "pending",
        "_server_id": "t",
    },
]
ARGILLA_FLAT = [
    {
        "id": "a",
        "status": "completed",
        "_server_id": "s",
        "text": "meow",
        "animal.responses": ["cat", "dog", "cow"],
        "animal.responses.users": ["u1", "u2", "u3"],
        "animal.responses.status": ["submitted", "submitted", "draft"],
        "animal.suggestion": "dog",
        "animal.suggestion.score": 0.6,
        "animal.suggestion.agent": "m1",
    }
]
ARGILLA_1 = [
    {
        "fields": {"text": "meow"},
        "metadata": {},
        "responses": [
            {"user_id": "u1", "values": {"animal": {"value": "cat"}}, "status": "submitted"},
            {"user_id": "u2", "values": {"animal": {"value": "dog"}}, "status": "discarded"},
        ],
        "suggestions": [{"question_name": "animal", "value": "dog", "agent": "m1"}],
        "external_id": "a",
    }
]
ARGILLA_TEXT = [
    {
        "id": "a",
        "text": "meow",
        "inputs": {"text": "meow"},
        "prediction": [{"label": "dog", "score": 0.6}, {"label": "cat", "score": 0.4}],
        "prediction_agent": "m1",
        "annotation": "cat",
        "annotation_agent": "ann",
        "status": "Validated",
        "metadata": {"page": 3},
        "vectors": None,
        "explanation": None,
    },
    {
        "id": "b",
        "text": "woof",
        "inputs": {"text": "woof"},
        "prediction": None,
        "annotation": "dog",
        "annotation_agent": "ann",
        "status": "Discarded",
        "metadata": {},
    },
]
_TOLOKA_HEADER = (
    "INPUT:image\tOUTPUT:result\tGOLDEN:result\tHINT:text\tASSIGNMENT:link\t"
    "ASSIGNMENT:assignment_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:started\n"
)
TOLOKA = _TOLOKA_HEADER + "".join(
    f"{image}\t{said}\t{golden}\t\thttps://toloka.example\ta{number}\t{who}\t{status}\t2024-01-01\n"
    for number, (image, said, golden, who, status) in enumerate(
        (
            ("1.jpg", "cat", "", "w1", "APPROVED"),
            ("1.jpg", "dog", "", "w2", "SUBMITTED"),
            ("2.jpg", "dog", "dog", "w1", "APPROVED"),
            ("2.jpg", "cat", "dog", "w3", "REJECTED"),
        )
    )
)
MTURK = (
    '"HITId","HITTypeId","Title","AssignmentId","WorkerId","AssignmentStatus",'
    '"Input.image_url","Answer.animal","Approve","Reject"\n'
    '"H1","T","Pets","A1","W1","Approved","1.jpg","cat","x",""\n'
    '"H1","T","Pets","A2","W2","Submitted","1.jpg","cat|dog","",""\n'
    '"H2","T","Pets","A3","W1","Approved","2.jpg","dog","x",""\n'
    '"H2","T","Pets","A4","W3","Rejected","2.jpg","cat","","wrong"\n'
)
MTURK_CROWD = (
    '"HITId","WorkerId","AssignmentStatus","Input.image_url","Answer.taskAnswers"\n'
    '"H1","W1","Approved","1.jpg","[{""animal"":{""label"":""cat""}}]"\n'
    '"H1","W2","Approved","1.jpg","[{""animal"":{""cat"":false,""dog"":true}}]"\n'
)
_METADATA = {
    "confidence": 0.8,
    "type": "groundtruth/image-classification",
    "job-name": "pets",
    "human-annotated": "yes",
    "creation-date": "2024-01-01T00:00:00",
}
SAGEMAKER = [
    {"source-ref": "s3://b/1.jpg", "pet": 0, "pet-metadata": {**_METADATA, "class-name": "cat"}},
    {"source-ref": "s3://b/2.jpg", "pet": 1, "pet-metadata": {**_METADATA, "class-name": "dog"}},
    {"source-ref": "s3://b/3.jpg", "pet-metadata": {"failure-reason": "too large"}},
]
SAGEMAKER_SEVERAL = [
    {
        "source": "meow",
        "pet": [0, 2],
        "pet-metadata": {
            "class-map": {"0": "cat", "2": "dog"},
            "confidence-map": {"0": 0.9, "2": 0.6},
            "type": "groundtruth/text-classification-multilabel",
        },
    }
]
SAGEMAKER_WORKERS = [
    {
        "datasetObjectId": str(number),
        "dataObject": {"s3Uri": f"s3://b/{number}.json", "content": f'{{"source": "{text}"}}'},
        "annotations": [
            {
                "workerId": who,
                "annotationData": {
                    "content": json.dumps({"crowd-image-classifier": {"label": said}})
                },
            }
            for who, said in answers
        ],
    }
    for number, text, answers in (
        (0, "meow", [("w1", "cat"), ("w2", "dog")]),
        (1, "woof", [("w1", "dog")]),
    )
]

# By tool, every form of its export, as text.
EXPORTS = {
    ("label-studio", "json"): json.dumps(LABEL_STUDIO),
    ("label-studio", "min"): json.dumps(LABEL_STUDIO_MIN, indent=2),
    ("label-studio", "csv"): LABEL_STUDIO_CSV,
    ("label-studio", "stored"): json.dumps(LABEL_STUDIO_STORED),
    ("prodigy", "labels"): "\n".join(map(json.dumps, PRODIGY)),
    ("prodigy", "choices"): "\n".join(map(json.dumps, PRODIGY_CHOICE)),
    ("doccano", "lines"): "\n".join(map(json.dumps, DOCCANO)),
    ("argilla", "records"): json.dumps(ARGILLA),
    ("argilla", "flat"): json.dumps(ARGILLA_FLAT),
    ("argilla", "feedback"): "\n".join(map(json.dumps, ARGILLA_1)),
    ("argilla", "texts"): "\n".join(map(json.dumps, ARGILLA_TEXT)),
    ("toloka", "tsv"): TOLOKA,
    ("mturk", "csv"): MTURK,
    ("mturk", "crowd"): MTURK_CROWD,
    ("sagemaker", "manifest"): "\n".join(map(json.dumps, SAGEMAKER)),
    ("sagemaker", "several"): "\n".join(map(json.dumps, SAGEMAKER_SEVERAL)),
    ("sagemaker", "workers"): json.dumps(SAGEMAKER_WORKERS),
}
