"""The sub-commands of ``wardround``, one file each."""
