"""The tags of an opened audio file, with every value of the fields that may have several."""

from mediafile import (
    ASFStorageStyle,
    ListMediaField,
    ListStorageStyle,
    MediaFile,
    MP3ListStorageStyle,
    MP4ListStorageStyle,
)


def _several(id3: str, mp4: str, asf: str, *others: str) -> ListMediaField:
    """Describe a field by its ID3 frame, MP4 atom, ASF attribute and Vorbis/APE keys."""
    return ListMediaField(
        MP3ListStorageStyle(id3),
        MP4ListStorageStyle(mp4),
        ASFStorageStyle(asf),
        *(ListStorageStyle(key) for key in others),
    )


class TaggedAudio(MediaFile):  # type: ignore[misc]  # mediafile has no type information
    """mediafile's own field table, and beside it the fields of which it keeps the first value only.

    `every_date` is a text as found: mediafile's `date` turns 1974 into 1 January 1974, besides it
    takes no more than the year from the `Year` that Picard writes into APE tags.

    Keys: https://picard-docs.musicbrainz.org/en/appendices/tag_mapping.html
    """

    every_artist = _several("TPE1", "\xa9ART", "Author", "ARTIST")
    every_album_artist = _several(
        "TPE2", "aART", "WM/AlbumArtist", "ALBUMARTIST", "ALBUM ARTIST", "ALBUM_ARTIST"
    )
    every_date = _several("TDRC", "\xa9day", "WM/Year", "DATE", "YEAR")
    every_isrc = _several("TSRC", "----:com.apple.iTunes:ISRC", "WM/ISRC", "ISRC")
