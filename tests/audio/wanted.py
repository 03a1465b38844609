"""A value for every field that is written."""

from chart_binder.audio.fields import FIELDS_BY_NAME

FREDDIE = "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"
DAVID = "5441c29d-3602-4898-b1a1-b77fa23b8e50"

WANTED: dict[str, tuple[str, ...]] = {
    "recording_mbid": ("b1a9c0e9-d987-4042-ae91-78d6a3267d69",),
    "release_track_mbid": ("0e0ad1e4-c2f2-3a3c-8a6b-4f3a6d2d3a4b",),
    "release_mbid": ("1e477f68-c407-4eae-ad01-518528cedc2c",),
    "release_group_mbid": ("6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd",),
    "artist_mbids": (FREDDIE, DAVID),
    "album_artist_mbids": (FREDDIE,),
    "album": ("Ænima / 東京",),
    "album_artist": ("AC/DC",),
    "date": ("2011-09-05",),
    "original_date": ("1974-10-11",),
    "original_year": ("1974",),
    "release_types": ("album", "compilation"),
    "release_status": ("official",),
    "release_country": ("GB",),
    "labels": ("EMI",),
    "catalog_numbers": ("EMC 3061",),
    "media": ('12" Vinyl',),
    "decision_trace": ("evh=9b1f2c3d;crg=ALBUM_LEAD_WINDOW;rr=WORLD_EARLIEST;src=mb;cfg=lw90",),
}

assert WANTED.keys() == FIELDS_BY_NAME.keys()
