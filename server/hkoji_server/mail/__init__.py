"""The edges of play by mail: how mail comes in and letters go out. Only here are the protocols of mail spoken."""
