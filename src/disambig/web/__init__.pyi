from .serve import serve_model as serve_model
from .serve_app import model_app as model_app
from .serve_batches import ServeLimits as ServeLimits
from .study_report import study_page as study_page
from .table_report import table_page as table_page
