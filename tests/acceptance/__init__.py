"""Projects used as their owners use them: by ``manage.py``, in processes of their own."""
