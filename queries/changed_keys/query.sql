-- The place of each player, from the changes of a ranking by place.

CREATE TABLE ranking (
    place INT NOT NULL,
    player STRING,
    points INT,
    PRIMARY KEY (player) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'input', 'changes' = 'retract');

CREATE TABLE places (
    player STRING,
    place INT,
    PRIMARY KEY (player) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'places.jsonl', 'format' = 'json', 'changes' = 'upsert');

INSERT INTO places SELECT player, place FROM ranking;
