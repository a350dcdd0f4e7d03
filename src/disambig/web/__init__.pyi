from .study_report import study_page as study_page
from .table_report import table_page as table_page
