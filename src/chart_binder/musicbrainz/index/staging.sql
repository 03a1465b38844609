/* The tables that are staged: `load` from those of a dump, in braces, and what is derived of them.
   Tables that are read in ranges are sorted, so that a range is read fast. */
-- macros
CREATE MACRO plain(x) AS CASE WHEN contains(x, '\') THEN
    replace(replace(replace(replace(replace(replace(replace(replace(x,
        '\\', chr(1)), '\t', chr(9)), '\n', chr(10)), '\r', chr(13)), '\b', chr(8)),
        '\f', chr(12)), '\v', chr(11)), chr(1), '\')
    ELSE x END;
/* What the web service shows of a text: as in Perl, `0` counts as empty. */
CREATE MACRO shown(x) AS CASE WHEN x NOT IN ('', '0') THEN plain(x) END;
CREATE MACRO hex_of(gid) AS replace(gid::VARCHAR, '-', '');
CREATE MACRO signed(x) AS CASE WHEN x >= 9223372036854775808
    THEN (x::HUGEINT - 18446744073709551616)::BIGINT ELSE x::BIGINT END;
CREATE MACRO key_of(gid) AS signed(('0x' || left(hex_of(gid), 16))::UBIGINT);
CREATE MACRO rest_of(gid) AS signed(('0x' || right(hex_of(gid), 16))::UBIGINT);
CREATE MACRO key_hex(key) AS lpad(to_hex(key), 16, '0');
CREATE MACRO id_hex(id) AS lpad(to_hex(id::BIGINT), 8, '0');
CREATE MACRO known(x, greatest, otherwise) AS
    CASE WHEN x BETWEEN 1 AND greatest THEN x ELSE otherwise END::INTEGER;
CREATE MACRO sort_date(y, m, d) AS
    known(y, 9998, 9999) * 10000 + known(m, 12, 99) * 100 + known(d, 31, 99);
CREATE MACRO date_of(s) AS
    CASE WHEN s // 10000 = 9999 THEN 0 ELSE s // 10000 * 10000 END
    + CASE WHEN s // 100 % 100 = 99 THEN 0 ELSE s // 100 % 100 * 100 END
    + CASE WHEN s % 100 = 99 THEN 0 ELSE s % 100 END;
-- load release_status
SELECT id, plain(name) AS name FROM {release_status}
-- load primary_type
SELECT id, plain(name) AS name FROM {release_group_primary_type}
-- load secondary_type
SELECT id, plain(name) AS name FROM {release_group_secondary_type}
-- load medium_format
SELECT id, plain(name) AS name FROM {medium_format}
-- load link_type
SELECT id, entity_type0 || '-' || entity_type1 AS pair, name FROM {link_type}
-- load link
SELECT id, link_type, ended FROM {link}
-- load area_type
SELECT id, plain(name) AS name FROM {area_type}
-- load area
SELECT id, plain(name) AS name, type FROM {area}
-- load code
SELECT area, code, true AS is_country FROM {iso_3166_1}
UNION ALL SELECT area, code, false FROM {iso_3166_2}
-- load area_relation
SELECT link, entity0, entity1 FROM {l_area_area}
-- load artist
SELECT id, gid, plain(name) AS name, plain(sort_name) AS sort_name,
    shown(comment) AS comment, area, begin_area FROM {artist}
-- load alias
SELECT DISTINCT artist, plain(name) AS name FROM {artist_alias}
-- load credit
SELECT id, plain(name) AS name FROM {artist_credit}
-- load credit_name
SELECT artist_credit AS credit, position, artist, plain(name) AS name,
    plain(join_phrase) AS join_phrase FROM {artist_credit_name}
-- load recording
SELECT id, key_of(gid) AS key, rest_of(gid) AS rest, plain(name) AS name,
    artist_credit AS credit, length, shown(comment) AS comment, video FROM {recording}
ORDER BY key
-- load isrc
SELECT DISTINCT recording AS id, isrc FROM {isrc}
-- load release_group
SELECT id, gid, plain(name) AS name, artist_credit AS credit, type,
    shown(comment) AS comment FROM {release_group} ORDER BY id
-- load secondary
SELECT DISTINCT release_group, secondary_type FROM {release_group_secondary_type_join}
-- load release
SELECT id, gid, plain(name) AS name, artist_credit AS credit, release_group, status,
    nullif(plain(barcode), '') AS barcode, shown(comment) AS comment FROM {release} ORDER BY id
-- load event
SELECT release, country AS area, sort_date(date_year, date_month, date_day) AS date
FROM {release_country}
UNION ALL SELECT release, NULL, sort_date(date_year, date_month, date_day)
FROM {release_unknown_country} ORDER BY release
-- load label
SELECT id, plain(name) AS name FROM {label}
-- load release_label
SELECT release, plain(catalog_number) AS catno, label FROM {release_label} ORDER BY release
-- load medium
SELECT id, release, position, format, shown(name) AS name, track_count FROM {medium}
ORDER BY release
-- load track
SELECT gid, recording, medium, position, plain(name) AS name, artist_credit AS credit,
    is_data_track AS is_data FROM {track}
-- load artist_gid_redirect
SELECT gid, new_id FROM {artist_gid_redirect} ANTI JOIN artist USING (gid)
-- load release_group_gid_redirect
SELECT gid, new_id FROM {release_group_gid_redirect} ANTI JOIN release_group USING (gid)
-- load release_gid_redirect
SELECT gid, new_id FROM {release_gid_redirect} ANTI JOIN release USING (gid)
-- load recording_gid_redirect
SELECT gid, new_id FROM {recording_gid_redirect}
-- load work
SELECT id, key_of(gid) AS key, rest_of(gid) AS rest, plain(name) AS name FROM {work}
-- load recording_work
SELECT link, entity0, entity1 FROM {l_recording_work}
-- load recording_relation
SELECT link, entity0, entity1 FROM {l_recording_recording}
-- load group_link
SELECT r.entity0 AS release_group, t.id AS type, t.name, link.ended, plain(u.url) AS url
FROM {l_release_group_url} r JOIN link ON link.id = r.link
JOIN link_type t ON t.id = link.link_type JOIN {url} u ON u.id = r.entity1
WHERE t.name IN ('wikidata', 'wikipedia')
-- derive credit_artist: group the artists of credits
SELECT DISTINCT credit, artist FROM credit_name
-- derive release_date: find the first dates of releases
SELECT release, min(date) AS date FROM event JOIN release ON release.id = event.release
WHERE date <> 99999999 AND coalesce(status, 0) NOT IN
    (SELECT id FROM release_status WHERE name = 'Cancelled')
GROUP BY release
-- derive placed: join tracks, media and recordings
SELECT m.release, m.id AS medium, t.gid, r.key AS recording, t.position, t.is_data,
    CASE WHEN t.name <> r.name THEN t.name END AS title,
    CASE WHEN t.credit <> r.credit THEN t.credit END AS credit, t.credit AS shown_credit
FROM track t JOIN medium m ON m.id = t.medium JOIN recording r ON r.id = t.recording
ORDER BY m.release
-- derive on_release: find the releases of recordings
SELECT DISTINCT p.recording, p.release, d.date FROM placed p
LEFT JOIN release_date d ON d.release = p.release ORDER BY p.recording
-- derive isrc_key: find the ISRCs of recordings
SELECT r.key AS recording, i.isrc FROM isrc i JOIN recording r ON r.id = i.id
ORDER BY r.key
-- derive performance: find the works of recordings
SELECT DISTINCT r.key AS recording, w.key AS work FROM recording_work x
JOIN link ON link.id = x.link JOIN link_type t ON t.id = link.link_type
JOIN recording r ON r.id = x.entity0 JOIN work w ON w.id = x.entity1
WHERE t.name = 'performance' ORDER BY r.key
-- derive relation: find the relations of recordings
SELECT a.key AS recording, t.id AS type, s.is_backward, b.key AS other, link.ended
FROM (
    SELECT link, entity0 AS here, entity1 AS there, false AS is_backward
    FROM recording_relation
    UNION ALL SELECT link, entity1, entity0, true FROM recording_relation
) s JOIN link ON link.id = s.link JOIN link_type t ON t.id = link.link_type
JOIN recording a ON a.id = s.here JOIN recording b ON b.id = s.there ORDER BY a.key
-- derive appearance: find the records on which artists appear
SELECT DISTINCT c.artist, s.release FROM (
    SELECT DISTINCT p.shown_credit AS credit, p.release
    FROM placed p JOIN release r ON r.id = p.release WHERE p.shown_credit <> r.credit
) s JOIN credit_artist c ON c.credit = s.credit JOIN release r ON r.id = s.release
ANTI JOIN credit_artist o ON o.credit = r.credit AND o.artist = c.artist
