from tests.pages_of_others import REFUND, policy
from xpstore.exchange.bundle import bundle
from xpstore.exchange.formats import FIGURES, FOLDERS, FORMATS


def test_every_format_makes_files_and_says_whether_they_are_a_folder():
    for form in FORMATS:
        made = bundle(policy(refund_order=REFUND), form, "s1")
        assert (list(made.files) == [""]) == (form not in FOLDERS)
        assert ("*Support" in "".join(made.files.values())) == (form in FIGURES)
