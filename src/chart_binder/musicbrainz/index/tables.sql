/* The rows of each table of an index, in the order of its key. */
-- word
SELECT 'status', id, name FROM release_status
UNION ALL SELECT 'primary_type', id, name FROM primary_type
UNION ALL SELECT 'secondary_type', id, name FROM secondary_type
UNION ALL SELECT 'format', id, name FROM medium_format
UNION ALL SELECT 'link_type', id, name FROM link_type
WHERE pair IN ('recording-recording', 'release_group-url') ORDER BY 1, 2
-- identifier
SELECT kind, unhex(hex_of(gid)), id FROM (
    SELECT 0 AS kind, gid, id FROM artist UNION ALL SELECT 1, gid, id FROM release_group
    UNION ALL SELECT 2, gid, id FROM release
    UNION ALL SELECT 0, gid, new_id FROM artist_gid_redirect
    UNION ALL SELECT 1, gid, new_id FROM release_group_gid_redirect
    UNION ALL SELECT 2, gid, new_id FROM release_gid_redirect
    UNION ALL SELECT 3, d.gid, r.key FROM recording_gid_redirect d
        JOIN recording r ON r.id = d.new_id
) ORDER BY kind, gid
-- artist
SELECT a.id, unhex(hex_of(a.gid)), a.name, nullif(a.sort_name, a.name), a.comment, a.begin_area,
    a.area, s.names
FROM artist a LEFT JOIN (
    SELECT artist, list(name ORDER BY name) AS names FROM alias
    WHERE artist BETWEEN $first AND $last GROUP BY artist
) s ON s.artist = a.id WHERE a.id BETWEEN $first AND $last ORDER BY a.id
-- discography
WITH own_group AS (
    SELECT c.artist, unhex(string_agg(id_hex(g.id), '' ORDER BY g.id)) AS ids
    FROM release_group g JOIN credit_artist c ON c.credit = g.credit
    WHERE c.artist BETWEEN $first AND $last GROUP BY c.artist
), own_release AS (
    SELECT c.artist, unhex(string_agg(id_hex(r.id), '' ORDER BY r.id)) AS ids
    FROM release r JOIN credit_artist c ON c.credit = r.credit
    WHERE c.artist BETWEEN $first AND $last GROUP BY c.artist
), other AS (
    SELECT artist, unhex(string_agg(id_hex(release), '' ORDER BY release)) AS ids
    FROM appearance WHERE artist BETWEEN $first AND $last GROUP BY artist
)
SELECT a.id, g.ids, r.ids, o.ids FROM artist a
LEFT JOIN own_group g ON g.artist = a.id LEFT JOIN own_release r ON r.artist = a.id
LEFT JOIN other o ON o.artist = a.id
WHERE a.id BETWEEN $first AND $last
    AND (g.ids IS NOT NULL OR r.ids IS NOT NULL OR o.ids IS NOT NULL)
ORDER BY a.id
-- credit
SELECT c.id, c.name, n.artists, n.names, n.phrases FROM credit c LEFT JOIN (
    SELECT credit, list(artist ORDER BY position) AS artists, list(name ORDER BY position) AS names,
        list(join_phrase ORDER BY position) AS phrases
    FROM credit_name WHERE credit BETWEEN $first AND $last GROUP BY credit
) n ON n.credit = c.id WHERE c.id BETWEEN $first AND $last ORDER BY c.id
-- release_group
SELECT g.id, unhex(hex_of(g.gid)), g.name, g.credit, g.type, coalesce(s.bits, 0),
    date_of(r.first), g.comment, r.ids, l.types, l.urls, l.ended
FROM release_group g LEFT JOIN (
    SELECT release_group, bit_or(1::BIGINT << secondary_type) AS bits FROM secondary
    WHERE release_group BETWEEN $first AND $last GROUP BY release_group
) s ON s.release_group = g.id LEFT JOIN (
    SELECT r.release_group, min(d.date) AS first,
        unhex(string_agg(id_hex(r.id), '' ORDER BY r.id)) AS ids
    FROM release r LEFT JOIN release_date d ON d.release = r.id
    WHERE r.release_group BETWEEN $first AND $last GROUP BY r.release_group
) r ON r.release_group = g.id LEFT JOIN (
    SELECT release_group, list(type ORDER BY name, ended, url) AS types,
        list(url ORDER BY name, ended, url) AS urls, list(ended ORDER BY name, ended, url) AS ended
    FROM group_link WHERE release_group BETWEEN $first AND $last GROUP BY release_group
) l ON l.release_group = g.id WHERE g.id BETWEEN $first AND $last ORDER BY g.id
-- release
SELECT r.id, unhex(hex_of(r.gid)), nullif(r.name, g.name), nullif(r.credit, g.credit),
    r.release_group, r.status, r.comment, r.barcode, e.dates, e.areas, l.catnos, l.labels, m.formats
FROM release r JOIN release_group g ON g.id = r.release_group LEFT JOIN (
    SELECT release, list(date ORDER BY date) AS dates, list(area ORDER BY date) AS areas
    FROM event WHERE release BETWEEN $first AND $last GROUP BY release
) e ON e.release = r.id LEFT JOIN (
    SELECT release, list(catno) AS catnos, list(l.name) AS labels
    FROM release_label LEFT JOIN label l ON l.id = label
    WHERE release BETWEEN $first AND $last GROUP BY release
) l ON l.release = r.id LEFT JOIN (
    SELECT release, list(format ORDER BY position) AS formats
    FROM medium WHERE release BETWEEN $first AND $last GROUP BY release
) m ON m.release = r.id WHERE r.id BETWEEN $first AND $last ORDER BY r.id
-- media
SELECT m.release, m.position, m.format, m.name, t.gids, t.recordings, t.positions, t.data_tracks,
    t.titles, t.credits
FROM medium m LEFT JOIN (
    SELECT medium, unhex(string_agg(hex_of(gid), '' ORDER BY is_data, position)) AS gids,
        unhex(string_agg(key_hex(recording), '' ORDER BY is_data, position)) AS recordings,
        list(position ORDER BY is_data, position) AS positions,
        count(*) FILTER (is_data) AS data_tracks,
        CASE WHEN count(title) > 0 THEN list(title ORDER BY is_data, position) END AS titles,
        CASE WHEN count(credit) > 0 THEN list(credit ORDER BY is_data, position) END AS credits
    FROM placed WHERE release BETWEEN $first AND $last GROUP BY medium
) t ON t.medium = m.id WHERE m.release BETWEEN $first AND $last ORDER BY m.release, m.position
-- recording
/* `relations` is MessagePack: an array of arrays of an integer, a boolean, a key and a boolean. */
SELECT r.key, r.rest, r.name, r.credit, r.length, date_of(o.first), r.comment,
    CASE WHEN r.video THEN 1 END, i.isrcs, o.ids, p.works, x.relations
FROM recording r LEFT JOIN (
    SELECT recording, min(date) AS first,
        unhex(string_agg(id_hex(release), '' ORDER BY release)) AS ids
    FROM on_release WHERE recording BETWEEN $first AND $last GROUP BY recording
) o ON o.recording = r.key LEFT JOIN (
    SELECT recording, string_agg(isrc, ' ' ORDER BY isrc) AS isrcs
    FROM isrc_key WHERE recording BETWEEN $first AND $last GROUP BY recording
) i ON i.recording = r.key LEFT JOIN (
    SELECT recording, unhex(string_agg(key_hex(work), '' ORDER BY work)) AS works
    FROM performance WHERE recording BETWEEN $first AND $last GROUP BY recording
) p ON p.recording = r.key LEFT JOIN (
    SELECT recording, unhex('dd' || id_hex(count(*)) || string_agg(
        '94d2' || id_hex(type) || CASE WHEN is_backward THEN 'c3d3' ELSE 'c2d3' END
        || key_hex(other) || CASE WHEN ended THEN 'c3' ELSE 'c2' END,
        '' ORDER BY type, is_backward, other)) AS relations
    FROM relation WHERE recording BETWEEN $first AND $last GROUP BY recording
) x ON x.recording = r.key WHERE r.key BETWEEN $first AND $last ORDER BY r.key
-- work
SELECT w.key, w.rest, w.name, unhex(string_agg(key_hex(p.recording), '' ORDER BY p.recording))
FROM performance p JOIN work w ON w.key = p.work WHERE w.key BETWEEN $first AND $last
GROUP BY w.key, w.rest, w.name ORDER BY w.key
-- title
SELECT DISTINCT c.artist, h.hash, h.id FROM hash_title h JOIN recording r ON r.key = h.id
JOIN credit_artist c ON c.credit = r.credit ORDER BY c.artist, h.hash, h.id
-- displaced
SELECT kind, key, gid FROM displaced ORDER BY kind, key
-- isrc
SELECT isrc, recording FROM isrc_key ORDER BY isrc, recording
-- artist_name
SELECT DISTINCT hash, id FROM hash_artist_name ORDER BY hash, id
-- group_title
SELECT DISTINCT hash, id FROM hash_group_title ORDER BY hash, id
